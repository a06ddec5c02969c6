package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/scripts/redistest"
)

const serverKey = "{Raven}/ServerPrefixForHilo"

// waitForCeiling is how long a caller waits at a durable server, whose ceiling may never be raised.
const waitForCeiling = 10 * time.Second

// newestAOF returns the file that the server appends to.
func newestAOF(t *testing.T, s *redistest.Server) (newest string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.Dir(), "appendonlydir", "*.incr.aof"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no append-only file: %v", err)
	}
	greatest := -1
	for _, file := range files {
		var n int
		if _, err := fmt.Sscanf(filepath.Base(file), "appendonly.aof.%d.incr.aof", &n); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if n > greatest {
			newest, greatest = file, n
		}
	}
	return newest
}

func sizeOf(t *testing.T, file string) int64 {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func operate(t *testing.T, s *redistest.Server) *admin.Admin {
	t.Helper()
	operator, err := admin.New(redistest.NewClient(t, s), admin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return operator
}
