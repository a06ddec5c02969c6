package scripts

import (
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// protocolFile documents the scripts for clients in other languages. protocolDir contains them as they are sent.
const (
	protocolFile = "PROTOCOL.md"
	protocolDir  = "protocol"
)

var update = flag.Bool("update", false, "write "+protocolFile+" and the scripts in "+protocolDir+" anew")

// The published scripts are those that this package sends.
func TestProtocolIsCurrent(t *testing.T) {
	t.Parallel()
	written := make(map[string]string)
	table := "| script | file | SHA1 | KEYS | ARGV |\n|---|---|---|---|---|\n"
	for _, verb := range Verbs {
		file := protocolDir + "/" + verb.Name + ".lua"
		written[file] = sentAs(t, verb.Script)
		table += fmt.Sprintf("| %s | [%#q](%[2]s) | %#q | %d | %d |\n", verb.Name, file, verb.Script.Hash(), verb.Keys, verb.Args)
	}
	document := section(t, read(t, protocolFile), "scripts", table)
	expression := hash.FindString(read(t, "take.lua"))
	if expression == "" {
		t.Fatal("take.lua: got no hash, want one")
	}
	document = section(t, document, "hash", "The hash is `"+expression+"`, where `token` is `ARGV[1]` and "+
		"`replication`, if it is there, the server's `master_replid`, empty where the user may not call INFO.")
	for _, verb := range Verbs {
		document = section(t, document, verb.File, reference(t, verb))
	}
	written[protocolFile] = document
	for file, want := range written {
		if *update {
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if read(t, file) != want {
			t.Errorf("%s: got an old text, want the one that go generate ./scripts writes", file)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil && (!*update || !os.IsNotExist(err)) {
		t.Fatal(err)
	}
	return string(text)
}

// sentAs returns the text of a script as a server receives it.
func sentAs(t *testing.T, script *redis.Script) string {
	t.Helper()
	var into sent
	script.Eval(t.Context(), &into, nil)
	if into.text == "" {
		t.Fatal("got an empty script, want its text")
	}
	return into.text
}

// sent records the script that it would run.
type sent struct {
	redis.Scripter
	text string
}

func (s *sent) Eval(ctx context.Context, script string, _ []string, _ ...any) *redis.Cmd {
	s.text = script
	return redis.NewCmd(ctx)
}

// section replaces the text between the comments that mark a generated part of a document.
func section(t *testing.T, document, name, text string) string {
	t.Helper()
	begin, end := fmt.Sprintf("<!-- %s: made by go generate ./scripts -->\n", name), fmt.Sprintf("<!-- end of %s -->\n", name)
	head, rest, begun := strings.Cut(document, begin)
	_, tail, ended := strings.Cut(rest, end)
	if !begun || !ended {
		t.Fatalf("%s: got no part %q, want one", protocolFile, name)
	}
	return head + begin + "\n" + text + "\n" + end + tail
}

var (
	hash      = regexp.MustCompile(`redis\.sha1hex\([^)]*\)`)
	argument  = regexp.MustCompile(`^ ((?:(?:KEYS|ARGV)\[\d+\](?:, )?)+) +-> (.*)$`)
	replyItem = regexp.MustCompile(`^   (\w+) +(\S.*)$`)
	keyName   = regexp.MustCompile(`\{ns\}/[^\s,:]+`)
	columns   = regexp.MustCompile(`  +`) // between the key and what it is
)

// reference returns the header of a verb's file as Markdown. It describes the verb, KEYS and ARGV, the reply, the errors, and the
// effect of sending it twice.
func reference(t *testing.T, verb Verb) string {
	t.Helper()
	about, rest, ok := strings.Cut(read(t, verb.File+".lua"), "\n")
	if !ok || !strings.HasPrefix(about, "-- "+verb.File+".lua: ") {
		t.Fatalf("%s.lua: got no header, want one", verb.File)
	}
	r := rendering{}
	r.begin("", strings.TrimPrefix(about, "-- "+verb.File+".lua: "))
	arguments := 0
	for line := range strings.Lines(rest) {
		line, comment := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "--")
		if !comment {
			break
		}
		if row := argument.FindStringSubmatch(line); row != nil {
			if verb.Name != "next" || !strings.HasPrefix(row[2], "identity only: ") {
				arguments += strings.Count(row[1], "[")
			}
			r.begin("|", "`"+strings.TrimSpace(row[1])+"` | "+columns.ReplaceAllString(row[2], ": "))
		} else if row := replyItem.FindStringSubmatch(line); row != nil {
			r.begin("|", "`"+row[1]+"` | "+row[2])
		} else {
			r.take(line)
		}
	}
	if want := verb.Keys + verb.Args; arguments != want {
		t.Errorf("%s.lua: got %d documented arguments of %s, want %d", verb.File, arguments, verb.Name, want)
	}
	return r.String()
}

// rendering is a list of paragraphs and rows of tables.
type rendering struct {
	kinds, texts []string // kind "" is a paragraph, "|" a row
}

func (r *rendering) begin(kind, text string) {
	r.kinds, r.texts = append(r.kinds, kind), append(r.texts, text)
}

// take adds a line of prose to the previous text, or as a paragraph of its own.
func (r *rendering) take(line string) {
	text, last := strings.TrimSpace(line), len(r.texts)-1
	switch starts := regexp.MustCompile(`^ (Output|Errors|Sent twice):`).MatchString(line); {
	case text == "":
		r.begin("", "")
	case starts, r.kinds[last] == "|" && !strings.HasPrefix(line, "    "):
		r.begin("", text)
	case r.texts[last] == "":
		r.texts[last] = text
	default:
		r.texts[last] += " " + text
	}
}

func (r *rendering) String() string {
	var b strings.Builder
	for i, text := range r.texts {
		text = keyName.ReplaceAllString(text, "`$0`")
		switch {
		case text == "":
		case r.kinds[i] == "":
			b.WriteString(text + "\n\n")
		default:
			if r.kinds[i-1] == "" {
				b.WriteString("| | |\n|---|---|\n")
			}
			b.WriteString("| " + text + " |\n")
			if i+1 < len(r.kinds) && r.kinds[i+1] == "" {
				b.WriteString("\n")
			}
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
