package metrics_test

import (
	"os"
	"strings"
	"testing"
)

func TestReadmeHasTheCodeOfTheExample(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
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
		t.Fatal("got a README without code, want some")
	}
	for line := range strings.Lines(code) {
		if !strings.Contains(string(example), "\t"+line) {
			t.Errorf("got %q in the README, want only lines of the Example", line)
		}
	}
}
