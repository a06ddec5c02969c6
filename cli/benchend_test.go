package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// aBench works on s and would never end. It calls underWay once, when identifiers have been given.
func aBench(t *testing.T, s *redistest.Server, underWay func()) (b bench, stdout, log *bytes.Buffer) {
	t.Helper()
	// After as many failures to dial as it has room for connections, go-redis goes on dialing for a second after the end.
	to, err := parseTarget(s.URL() + "?pool_size=10000")
	if err != nil {
		t.Fatal(err)
	}
	stdout, log = new(bytes.Buffer), new(bytes.Buffer)
	var once sync.Once
	return bench{
		globals: globals{
			Env: Env{Stdout: stdout}, Namespace: "hilo-bench-of-a-test", Separator: "/", JSON: true,
			Timeout: time.Minute, Log: newLogger(log, zap.WarnLevel),
		},
		target: to, Collections: numbered("orders", 2), Workers: 4, Allocators: 2, Duration: time.Hour, Every: time.Millisecond,
		Progress: writer(func(p []byte) (int, error) {
			if !bytes.Contains(p, []byte(" 0 ids/s")) {
				once.Do(underWay)
			}
			return len(p), nil
		}),
	}, stdout, log
}

func TestBenchInterruptedShowsWhatItMeasuredAndCleansUp(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"at full speed", "at a rate"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				b, stdout, log := aBench(t, s, cancel)
				b.Compare = true
				if mode == "at a rate" {
					b.Rate = 10_000
				}
				err := b.Run(ctx)
				got := decode[measured](t, stdout.String())
				if !got.Interrupted || got.IDs == 0 || got.Total.Reserved != got.Total.Issued+got.Total.Returned+got.Total.Burnt || got.Compare != nil {
					t.Errorf("%+v", got)
				}
				if want := "interrupted after " + ids(got.IDs); exitCode(err) != exitFailed || err.Error() != want || log.Len() > 0 {
					t.Errorf("exit %d, error %v, want %s; log %s", exitCode(err), err, want, log)
				}
				checkEmpty(t, s)
			})
		})
	}
}

func TestBenchInterruptedWhileItComparesShowsBoth(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		b, stdout, _ := aBench(t, s, func() {})
		b.Compare, b.Count, b.Duration = true, 1_000_000, 0
		b.Progress = writer(func(p []byte) (int, error) {
			if bytes.HasPrefix(p, []byte("INCR: ")) && !bytes.Contains(p, []byte(" 0 ids/s")) {
				cancel()
			}
			return len(p), nil
		})
		err := b.Run(ctx)
		got := decode[measured](t, stdout.String())
		if !got.Interrupted || got.IDs != 1_000_000 || got.Compare == nil || got.Compare.IDs == 0 || exitCode(err) != exitFailed {
			t.Errorf("%v, %+v", err, got)
		}
		checkEmpty(t, s)
	})
}

// TestBenchWhoseRedisGoesAway takes from so many collections that each call needs the server.
func TestBenchWhoseRedisGoesAway(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		underWay, ended := make(chan struct{}), make(chan error)
		b, stdout, log := aBench(t, s, func() { close(underWay) })
		b.Collections, b.Timeout = numbered("orders", 10_000), 500*time.Millisecond
		go func() { ended <- b.Run(t.Context()) }()
		select {
		case <-underWay:
		case err := <-ended:
			t.Fatalf("it ended before its time: %v", err)
		}
		s.Kill()
		err := <-ended
		got := decode[measured](t, stdout.String())
		if got.IDs == 0 || got.Interrupted || got.Total.Failures == 0 || got.Total.Reserved != got.Total.Issued+got.Total.Returned+got.Total.Burnt {
			t.Errorf("%d ids, %+v", got.IDs, got.Total)
		}
		want := "after " + ids(got.IDs) + ": "
		if s.Real() { // miniredis may die in the middle of a script, and say so
			want += "no Redis answers at "
		}
		if exitCode(err) != exitUnavailable || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("exit %d, error %v", exitCode(err), err)
		}
		if !strings.Contains(log.String(), "could not be removed") || !strings.Contains(log.String(), "{hilo-bench-of-a-test}/HiLo/orders1;") {
			t.Errorf("log %s", log)
		}
	})
}

func TestBenchThatMayNotCleanUpDoesNotBegin(t *testing.T) {
	t.Parallel()
	s := redistest.StartMini(t)
	s.Hook(func(cmd string, _ []string) string {
		if cmd == "DEL" {
			return "NOPERM this user has no permissions to run the 'del' command"
		}
		return ""
	})
	mustFail(t, exitUnavailable, hilo(t, "bench", "--count", "100", "--redis", s.URL()), "does not let this user do it (NOPERM")
	checkEmpty(t, s)
	must(t, "bench", "orders", "--namespace", "Mine", "--count", "100", "--redis", s.URL()) // nothing to remove
}

func TestBenchThatCannotCleanUpSaysSo(t *testing.T) {
	t.Parallel()
	s := redistest.StartMini(t)
	var written sync.Once
	wrote := make(chan struct{})
	s.Hook(func(cmd string, _ []string) string {
		switch cmd {
		case "EVALSHA":
			written.Do(func() { close(wrote) })
		case "DEL":
			select {
			case <-wrote:
				return "ERR not now"
			default:
			}
		}
		return ""
	})
	r := hilo(t, "bench", "--count", "100", "--redis", s.URL())
	if !strings.Contains(r.stdout, "100 in ") {
		t.Errorf("stdout %q", r.stdout)
	}
	r.stdout = ""
	mustFail(t, exitFailed, r, "could not be removed (ERR not now): 1", "{hilo-bench-", "}/HiLo/orders", "redis-cli")
}

func TestOnlyATerminalIsShownProgress(t *testing.T) {
	t.Parallel()
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if isTerminal(file) || isTerminal(new(bytes.Buffer)) || isTerminal(nil) {
		t.Error("a file, a buffer or nothing is taken for a terminal")
	}
}

func TestProgressIsOfTheLatestInterval(t *testing.T) {
	t.Parallel()
	got := progress{at: 3 * time.Second, ids: 5000, waits: 7}.since(progress{at: time.Second, ids: 1000, waits: 4})
	if want := "  3 s  2000 ids/s  3 calls waited"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
