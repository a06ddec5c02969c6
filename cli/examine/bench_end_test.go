package examine

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/cli/internal/term"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// newBench returns a benchmark of s without an end. It calls started once, after the first identifiers.
func newBench(t *testing.T, s *redistest.Server, started func()) (b *bench, stdout, log *bytes.Buffer) {
	t.Helper()
	// After pool_size failed dials go-redis keeps dialing for a second, even after the client is closed.
	to, err := target.Parse(s.URL() + "?pool_size=10000")
	if err != nil {
		t.Fatal(err)
	}
	stdout, log = new(bytes.Buffer), new(bytes.Buffer)
	var once sync.Once
	return &bench{
		Session: &base.Session{
			Env: base.Env{Stdout: stdout, Stderr: log}, Namespace: "hilo-bench-of-a-test", Separator: "/", JSON: true,
			Timeout: time.Minute, Log: base.NewLogger(log, zap.WarnLevel),
		},
		target: to, Collection: "orders", Workers: 4, Duration: time.Hour,
		watch: func(p loadProgress) {
			if p.ids > 0 {
				once.Do(started)
			}
		},
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
				b, stdout, log := newBench(t, s, cancel)
				if mode == "at a rate" {
					b.Rate = 10_000
				}
				err := b.Run(ctx)
				got := clitest.Decode[measured](t, stdout.String())
				if !got.Interrupted || got.IDs == 0 || got.Total.Reserved != got.Total.Issued+got.Total.Returned+got.Total.Burnt {
					t.Errorf("%+v", got)
				}
				if want := "interrupted after " + term.Plural(got.IDs, "id"); exit.Code(err) != exit.Failed || err.Error() != want || log.Len() > 0 {
					t.Errorf("exit %d, error %v, want %s; log %s", exit.Code(err), err, want, log)
				}
				clitest.CheckEmpty(t, s)
			})
		})
	}
}

func TestBenchEndsWhenTheServerDies(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		started, ended := make(chan struct{}), make(chan error)
		b, stdout, log := newBench(t, s, func() { close(started) })
		b.Timeout = 500 * time.Millisecond
		go func() { ended <- b.Run(t.Context()) }()
		select {
		case <-started:
		case err := <-ended:
			t.Fatalf("it ended before the server died: %v", err)
		}
		s.Kill()
		err := <-ended
		got := clitest.Decode[measured](t, stdout.String())
		if got.IDs == 0 || got.Interrupted || got.Total.Failures == 0 || got.Total.Reserved != got.Total.Issued+got.Total.Returned+got.Total.Burnt {
			t.Errorf("%d ids, %+v", got.IDs, got.Total)
		}
		want := "after " + term.Plural(got.IDs, "id") + ": "
		if s.Real() { // miniredis may die in the middle of a script, with another error
			want += "no Redis answers at "
		}
		if exit.Code(err) != exit.Unavailable || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("exit %d, error %v", exit.Code(err), err)
		}
		if !strings.Contains(log.String(), "could not be removed") || !strings.Contains(log.String(), "{hilo-bench-of-a-test}/HiLo/orders and ") {
			t.Errorf("log %s", log)
		}
	})
}
