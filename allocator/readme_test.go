package allocator_test

import (
	"os"
	"strings"
	"testing"
)

// The code of the README is the Example, so it runs.
func TestTheCodeOfTheReadmeIsTheExample(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(readme), "```go\n")
	code, _, found := strings.Cut(code, "```")
	if !found {
		t.Fatal("the README has no code")
	}
	for line := range strings.Lines(code) {
		if indented := "\t" + line; strings.TrimSpace(line) != "" && !strings.Contains(string(example), indented) {
			t.Errorf("not in the Example: %s", line)
		}
	}
}
