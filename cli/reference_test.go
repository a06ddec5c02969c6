package cli

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/clitest"
)

const referenceFile = "REFERENCE.md"

var update = flag.Bool("update", false, "write "+referenceFile+" anew")

// The reference of each command contains its help.
func TestReferenceIsCurrent(t *testing.T) {
	t.Parallel()
	want := reference(t)
	if *update {
		if err := os.WriteFile(referenceFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(referenceFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not current: go generate ./cli writes it anew", referenceFile)
	}
}

func reference(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("# hilo: every command\n\nMade from the code by `go generate ./cli`; a test checks that it is current.\n\n")
	b.WriteString("JSON is what `--output json` prints on stdout: one value, unless it says otherwise. A field with `?` may be " +
		"missing. Fields may be added; none is renamed or removed.\n")
	var titles, texts []string
	eachLeaf(New(base.Env{}).Commands, "", func(path string, _ *cli.Command) {
		titles = append(titles, fmt.Sprintf("[%s](#hilo-%s)", path, strings.ReplaceAll(path, " ", "-")))
		help := clitest.Must(t, append(strings.Fields(path), "--help")...)
		help = strings.TrimSuffix(strings.TrimSpace(help), "Global flags, which may stand here too, and other exit codes: hilo --help")
		text := fmt.Sprintf("## hilo %s\n\n```text\n%s\n```\n", path, strings.TrimSpace(help))
		command := everyCommand[path]
		if command.json == "" {
			t.Fatalf("hilo %s is not in everyCommand, in commands_test.go", path)
		}
		text += "\nJSON"
		if command.lines {
			text += ", a value a line"
		}
		if command.note != "" {
			text += ", " + command.note
		}
		texts = append(texts, text+":\n\n```text\n"+shapeText(shapeOf(t, command.json), "")+"\n```\n")
	})
	fmt.Fprintf(&b, "\n%s\n\n## hilo\n\n```text\n%s\n```\n\n%s", strings.Join(titles, " · "), strings.TrimSpace(clitest.Must(t, "--help")+"\n"+clitest.Must(t, "help", "urls")+"\n"+clitest.Must(t, "help", "sign-in")+"\n"+clitest.Must(t, "help", "ravendb")), strings.Join(texts, "\n"))
	return b.String()
}

// shapeText formats a shape, with the comment of each field in the code.
func shapeText(is shape, indent string) string {
	switch is.kind {
	case "list":
		return "[" + shapeText(*is.of, indent) + ", …]"
	case "map":
		return "{NAME: " + shapeText(*is.of, indent) + ", …}"
	case "object":
		var b strings.Builder
		b.WriteString("{\n")
		for _, f := range is.fields {
			name := f.name
			if f.optional {
				name += "?"
			}
			comment := f.comment
			if comment != "" {
				comment = "  // " + comment
			}
			text := shapeText(f.of, indent+"  ")
			if first, rest, ok := strings.Cut(text, "\n"); ok {
				text, comment = first+comment+"\n"+rest, ""
			}
			fmt.Fprintf(&b, "%s  %s: %s%s\n", indent, name, text, comment)
		}
		return b.String() + indent + "}"
	default:
		return is.kind
	}
}
