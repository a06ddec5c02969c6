package allocator_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadmeProgramCompiles checks the program of the README inside the module, by an overlay, and compares its lines
// with those of the Example, which runs.
func TestReadmeProgramCompiles(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, program, _ := strings.Cut(string(readme), "```go\n")
	program, _, _ = strings.Cut(program, "```")
	if lines := strings.Count(program, "\n"); lines < 10 || lines > 25 {
		t.Fatalf("README.md: got a program of %d lines, want 10 to 25:\n%s", lines, program)
	}
	source, overlay := filepath.Join(t.TempDir(), "main.go"), filepath.Join(t.TempDir(), "overlay.json")
	inModule, err := filepath.Abs("readmeprogram/main.go")
	if err != nil {
		t.Fatal(err)
	}
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{inModule: source}})
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string][]byte{source: []byte(program), overlay: replace} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	compile := exec.CommandContext(t.Context(), "go", "list", "-export", "-overlay", overlay, "./readmeprogram")
	if output, err := compile.CombinedOutput(); err != nil {
		t.Errorf("%v: got %v, want <nil>\n%s", compile, err, output)
	}

	example, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(program, "func main() {\n")
	for line := range strings.Lines(body) {
		if !strings.Contains(line, `"127.0.0.1:6379"`) && !strings.Contains(string(example), line) {
			t.Errorf("README.md: got the line %q, want one of the Example", line)
		}
	}
}
