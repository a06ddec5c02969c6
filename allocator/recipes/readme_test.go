package recipes

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var (
	block = regexp.MustCompile("(?s)```go\n(.*?)```")
	link  = regexp.MustCompile(`From\s+\[([^\]]+)\]`)
)

// TestReadmeShowsTheCodeThatRuns looks for each block in the file named last
// before it.
func TestReadmeShowsTheCodeThatRuns(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	readme := string(text)
	shown := map[string]bool{}
	for _, at := range block.FindAllStringSubmatchIndex(readme, -1) {
		links := link.FindAllStringSubmatch(readme[:at[0]], -1)
		if len(links) == 0 {
			t.Fatal("a block comes before any file")
		}
		file, code := links[len(links)-1][1], readme[at[2]:at[3]]
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !contains(string(source), code) {
			t.Errorf("not in %s:\n%s", file, code)
		}
		directory, _, _ := strings.Cut(file, "/")
		shown[directory] = true
	}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.IsDir() && entry.Name() != "internal" && !shown[entry.Name()] {
			t.Errorf("README.md does not show %s", entry.Name())
		}
	}
}

// contains reports whether a source has code verbatim, at any depth of indentation.
func contains(source, code string) bool {
	for depth := range 4 {
		var lines strings.Builder
		for line := range strings.Lines(code) {
			if strings.TrimSpace(line) != "" {
				lines.WriteString(strings.Repeat("\t", depth))
			}
			lines.WriteString(line)
		}
		if strings.Contains("\n"+source, "\n"+lines.String()) {
			return true
		}
	}
	return false
}

func TestContainsFindsCodeAtAnyDepth(t *testing.T) {
	t.Parallel()
	const source = "func f() {\n\tif x {\n\t\ty()\n\t}\n}\n"
	for code, want := range map[string]bool{
		"if x {\n\ty()\n}\n": true,
		"if x {\ny()\n}\n":   false,
		"f x {\n":            false,
		source:               true,
	} {
		if got := contains(source, code); got != want {
			t.Errorf("contains(%q): got %t, want %t", code, got, want)
		}
	}
}
