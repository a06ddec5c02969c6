package allocator_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// readmeProgram returns the program of the README.
func readmeProgram(t *testing.T) (readme, program string) {
	t.Helper()
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, program, _ = strings.Cut(string(text), "```go\n")
	program, _, _ = strings.Cut(program, "```")
	return string(text), program
}

// TestReadmeProgramCompiles compiles the program of the README inside the module, by an overlay, and compares its lines with
// those of the Example, which runs.
func TestReadmeProgramCompiles(t *testing.T) {
	t.Parallel()
	_, program := readmeProgram(t)
	if lines := strings.Count(program, "\n"); lines < 10 || lines > 45 {
		t.Fatalf("README.md: got a program of %d lines, want 10 to 45:\n%s", lines, program)
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
		if !strings.Contains(line, "127.0.0.1:6379") && !strings.Contains(string(example), line) {
			t.Errorf("README.md: got the line %q, want one of the Example", line)
		}
	}
}

// TestReadmeCommandWorksInAnEmptyFolder runs it with a module proxy that has this tree as the newest version. Its last part,
// go run, is replaced by go list, which loads the same packages and compiles none.
func TestReadmeCommandWorksInAnEmptyFolder(t *testing.T) {
	t.Parallel()
	readme, program := readmeProgram(t)
	_, command, _ := strings.Cut(readme, "`go mod init ")
	command, _, _ = strings.Cut(command, "`")
	command, found := strings.CutSuffix("go mod init "+command, "go run .")
	if !found {
		t.Fatalf("README.md: got the command %q, want one that ends in go run", command)
	}
	proxy, cache := proxyOfThisTree(t), t.TempDir()
	downloaded, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	try := func(command string) (string, error) {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, "main.go"), []byte(program), 0o600); err != nil {
			t.Fatal(err)
		}
		shell := exec.CommandContext(t.Context(), "sh", "-c", command+"go list -deps .")
		shell.Dir = folder
		shell.Env = append(os.Environ(), "GOMODCACHE="+cache, "GOFLAGS=-modcacherw", "GOSUMDB=off", "GOTOOLCHAIN=local", "GOWORK=off",
			"GOPROXY=file://"+proxy+",file://"+strings.TrimSpace(string(downloaded))+"/cache/download")
		output, err := shell.CombinedOutput()
		return string(output), err
	}
	if output, err := try(command); err != nil {
		t.Errorf("%s: got %v, want <nil>\n%s", command, err, output)
	}
	without := strings.Replace(command, "/hilo/allocator", "/hilo", 1)
	if output, err := try(without); err == nil || !strings.Contains(output, "missing go.sum entry") {
		t.Errorf("%s: got %v, want an error: the test shows nothing\n%s", without, err, output)
	}
}

// proxyOfThisTree returns a folder that is a module proxy of the module in the folder above.
func proxyOfThisTree(t *testing.T) string {
	t.Helper()
	const module, version = "github.com/hilo-id/hilo", "v0.2.0"
	var archive bytes.Buffer
	files := zip.NewWriter(&archive)
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel("..", path)
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			_, nested := os.Stat(filepath.Join(path, "go.mod"))
			if name != "." && (nested == nil || strings.HasPrefix(name, ".")) {
				return filepath.SkipDir
			}
			return nil
		case !entry.Type().IsRegular():
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := files.Create(module + "@" + version + "/" + filepath.ToSlash(name))
		if err == nil {
			_, err = file.Write(content)
		}
		return err
	})
	if err = errors.Join(err, files.Close()); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	proxy := t.TempDir()
	versions := filepath.Join(proxy, module, "@v")
	if err := os.MkdirAll(versions, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"list": []byte(version + "\n"), version + ".info": []byte(`{"Version":"` + version + `"}`), version + ".mod": mod, version + ".zip": archive.Bytes(),
	} {
		if err := os.WriteFile(filepath.Join(versions, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return proxy
}
