package cli

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
)

func TestBenchDrawsAPicture(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "bench.svg")
	clitest.Must(t, "bench", "--duration", "700ms", "--rate", "10000", "--svg", file, "--redis", "embedded:")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for decoder := xml.NewDecoder(strings.NewReader(string(text))); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		if start, ok := token.(xml.StartElement); ok {
			names = append(names, start.Name.Local)
		}
	}
	for _, want := range []string{"svg", "text", "rect", "polygon"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
	if !strings.Contains(string(text), "ids/s") || !strings.Contains(string(text), "8 workers on 1 allocator") {
		t.Errorf("%s", text)
	}
	r := clitest.Hilo(t, "bench", "--count", "9", "--svg", filepath.Join(file, "x"), "--redis", "embedded:")
	if r.Code != exit.Failed || !strings.Contains(r.Stderr, "name another file with --svg") || !strings.Contains(r.Stdout, "ids/s") {
		t.Errorf("%+v", r)
	}
}
