package protocol

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// vectors is the content of vectors.json.
type vectors struct {
	About []string
	Keys  []string
	Users map[string][]string
	Cases []struct {
		Name  string
		Steps []step
	}
	Names struct {
		Rows []struct{ Name, Key string }
	}
	Refused struct {
		Rows []struct{ Name string }
	}
	Texts struct {
		Rows []struct {
			Collection, Prefix, Tag, Text string
			Number                        int64 `json:",string"`
		}
	}
	Capacities struct{ Rows json.RawMessage }
}

// step is one request and its expected reply.
type step struct {
	User, Script string
	Keys, Args   []string
	Command      []string
	Reply        any // a string, or a list of strings and nils
	Error        string
}

func readVectors(t *testing.T) vectors {
	t.Helper()
	var v vectors
	text, err := os.ReadFile("vectors.json")
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestServersReplyAsTheVectors(t *testing.T) {
	t.Parallel()
	v := readVectors(t)
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		p := newPlayer(t, s, v.Users)
		for _, c := range v.Cases {
			if err := p.client.Del(t.Context(), v.Keys...).Err(); err != nil {
				t.Fatal(err)
			}
			p.marks = map[string]string{"<origin>": p.origin}
			for i, step := range c.Steps {
				if wrong := p.play(t, step); wrong != "" {
					t.Errorf("%s: step %d: %s", c.Name, i+1, wrong)
				}
			}
		}
	})
}

// Each script and each error that a script's header names occurs in the vectors, and the error in PROTOCOL.md.
func TestVectorsCoverEachScriptAndError(t *testing.T) {
	t.Parallel()
	covered := make(map[string]bool)
	for _, c := range readVectors(t).Cases {
		for _, step := range c.Steps {
			covered[step.Script+" "+step.Error] = true
		}
	}
	document, err := os.ReadFile("../PROTOCOL.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name, ok := strings.CutSuffix(file.Name(), ".lua")
		if !ok {
			continue
		}
		if !covered[name+" "] {
			t.Errorf("no reply of %s", name)
		}
		for _, tag := range errorsOf(t, name) {
			if !covered[name+" "+tag] {
				t.Errorf("no %s of %s", tag, name)
			}
			if !strings.Contains(string(document), "\n| `"+tag+"` | ") {
				t.Errorf("PROTOCOL.md does not say what %s is", tag)
			}
		}
	}
}

// errorsOf returns the tags on the line "Errors:" of a script's header.
func errorsOf(t *testing.T, name string) []string {
	t.Helper()
	file := name
	if name == "next" || name == "identity" {
		file = "take"
	}
	text, err := os.ReadFile("../" + file + ".lua")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "\n-- Errors: ")
	if !ok {
		t.Fatalf("%s.lua names no errors", file)
	}
	line, _, _ := strings.Cut(strings.ReplaceAll(rest, "\n-- ", " "), "othing is written")
	common, own, _ := strings.Cut(line, "; of next also ")
	ofNext, ofIdentity, _ := strings.Cut(own, "; of identity also ")
	if name == "identity" {
		return errorWords(common + " " + ofIdentity)
	}
	return errorWords(common + " " + ofNext)
}

func errorWords(line string) []string {
	return slices.DeleteFunc(strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" ,;.", r) }),
		func(word string) bool { return !strings.HasPrefix(word, "HILO_") })
}

// player plays the vectors on one server.
type player struct {
	client, restricted redistest.Client
	miniNoInfo         *atomic.Bool
	scripts            map[string]*redis.Script
	origin             string
	marks              map[string]string // what stands for what, in this case
}

func newPlayer(t *testing.T, s *redistest.Server, users map[string][]string) *player {
	t.Helper()
	p := &player{client: s.Client(t), miniNoInfo: new(atomic.Bool), scripts: make(map[string]*redis.Script)}
	info := p.client.Info(t.Context(), "replication").Val()
	_, info, _ = strings.Cut(info, "master_replid:")
	if p.origin, _, _ = strings.Cut(info, "\r"); p.origin == "" {
		t.Fatal("the server has no replication id")
	}
	for name, rules := range users {
		p.restricted = p.user(t, s, name, rules)
	}
	return p
}

// user returns a client that signs in as another user. miniredis has no users, so there it returns the same client, and INFO is
// refused during a step of that user.
func (p *player) user(t *testing.T, s *redistest.Server, name string, rules []string) redistest.Client {
	t.Helper()
	if !s.Real() {
		s.Hook(func(cmd string, _ []string) string {
			if cmd == "INFO" && p.miniNoInfo.Load() {
				return "NOPERM this user has no permissions to run the 'info' command"
			}
			return ""
		})
		return p.client
	}
	command := []any{"ACL", "SETUSER", name, "reset"}
	opts := redistest.Options(s)
	opts.Username = name
	for _, rule := range rules {
		command = append(command, rule)
		if password, ok := strings.CutPrefix(rule, ">"); ok {
			opts.Password = password
		}
	}
	if err := p.client.Do(t.Context(), command...).Err(); err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(opts)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// play performs a step and returns what is wrong with the reply, or "" if it is right.
func (p *player) play(t *testing.T, step step) string {
	t.Helper()
	client := p.client
	if step.User != "" {
		client = p.restricted
	}
	p.miniNoInfo.Store(step.User != "")
	defer p.miniNoInfo.Store(false)
	var cmd *redis.Cmd
	if step.Script != "" {
		cmd = p.script(t, step.Script).Run(t.Context(), client, step.Keys, p.filled(step.Args)...)
	} else {
		cmd = client.Do(t.Context(), p.filled(step.Command)...)
	}
	if tag := errorTag(cmd.Err()); tag != step.Error {
		return fmt.Sprintf("%q fails with %v, want %q", step.Args, cmd.Err(), step.Error)
	}
	if items, ok := cmd.Val().([]any); ok && (step.Script == "next" || step.Script == "identity") {
		if mark := fmt.Sprintf("<written %s>", items[0]); p.marks[mark] == "" {
			p.marks[mark] = fmt.Sprint(items[12])
		}
	}
	if step.Reply != nil && !p.matches(cmd.Val(), step.Reply) {
		return fmt.Sprintf("%s%q%q replies %q, want %q", step.Script, step.Command, step.Args, cmd.Val(), step.Reply)
	}
	return ""
}

func (p *player) script(t *testing.T, name string) *redis.Script {
	t.Helper()
	if p.scripts[name] == nil {
		text, err := os.ReadFile(name + ".lua")
		if err != nil {
			t.Fatal(err)
		}
		p.scripts[name] = redis.NewScript(string(text))
	}
	return p.scripts[name]
}

// fill replaces marks by their values.
func (p *player) fill(text string) string {
	for mark, value := range p.marks {
		text = strings.ReplaceAll(text, mark, value)
	}
	return text
}

// filled returns texts with their marks replaced, as arguments of a command.
func (p *player) filled(texts []string) []any {
	all := make([]any, len(texts))
	for i, text := range texts {
		all[i] = p.fill(text)
	}
	return all
}

func (p *player) matches(got, want any) bool {
	list, isList := want.([]any)
	if !isList {
		return want == "<any>" || got != nil && fmt.Sprint(got) == p.fill(fmt.Sprint(want))
	}
	items, ok := got.([]any)
	return ok && slices.EqualFunc(items, list, func(item, want any) bool {
		return item == nil && want == nil || item != nil && want != nil && p.matches(item, want)
	})
}

// errorTag returns the first word of an error, without the ERR that some servers put before it.
func errorTag(err error) string {
	if err == nil {
		return ""
	}
	tag, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "ERR "), " ")
	return tag
}

func TestVectorsHaveTheNamesAndTextsOfThisModule(t *testing.T) {
	t.Parallel()
	v := readVectors(t)
	for _, row := range v.Names.Rows {
		if got := prefix.NewKeys("Vectors").HiLo(row.Name); got != row.Key {
			t.Errorf("the key of %q is %q, want %q", row.Name, got, row.Key)
		}
	}
	for _, row := range v.Names.Rows {
		if err := prefix.ValidateCollection(row.Name, "/"); err != nil {
			t.Errorf("%q is refused: %v", row.Name, err)
		}
	}
	for _, row := range v.Refused.Rows {
		if prefix.ValidateCollection(row.Name, "/") == nil {
			t.Errorf("%q is not refused", row.Name)
		}
	}
	for _, row := range v.Texts.Rows {
		id := prefix.ID{Collection: row.Collection, ServerPrefix: row.Prefix, Number: row.Number, NodeTag: row.Tag}
		if id.String() != row.Text {
			t.Errorf("%+v is %q, want %q", id, id, row.Text)
		}
	}
	known, err := os.ReadFile("../../allocator/testdata/capacity.json")
	if err != nil {
		t.Fatal(err)
	}
	if compact(t, known) != compact(t, v.Capacities.Rows) {
		t.Error("the capacities are not those of the allocator")
	}
	if len(v.Names.Rows) == 0 || len(v.Refused.Rows) == 0 || len(v.Texts.Rows) == 0 || len(v.About) == 0 {
		t.Error("a table is empty")
	}
}

func compact(t *testing.T, text []byte) string {
	t.Helper()
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(value)
}
