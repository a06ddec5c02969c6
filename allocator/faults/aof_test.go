package faults

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// damage overwrites the first byte of the first command of an append-only file at or after an offset.
func damage(t *testing.T, file string, offset int64) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	command := strings.Index(string(text[offset-1:]), "\n*")
	if command < 0 {
		t.Fatalf("%s has no command behind %d of its %d bytes", file, offset, len(text))
	}
	text[int(offset)+command] = 'x'
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// repair runs redis-check-aof --fix, which cuts the append-only file of a server that is down at the first damage.
func repair(t *testing.T, s *redistest.Server) {
	t.Helper()
	cmd := exec.Command(strings.TrimSuffix(binaryOf(t, s).Path, "server")+"check-aof", "--fix", s.Dir()+"/appendonlydir/appendonly.aof.manifest")
	if _, err := os.Stat(cmd.Path); err != nil {
		redistest.Missing(t, cmd.Path)
	}
	cmd.Stdin = strings.NewReader("y\n")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

func binaryOf(t *testing.T, s *redistest.Server) redistest.Binary {
	t.Helper()
	all := redistest.Binaries(t)
	return all[slices.IndexFunc(all, func(b redistest.Binary) bool { return b.Name == s.Name() })]
}
