package examine

import (
	"context"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/clitest"
)

// idsCame is written when the first identifiers are recorded.
const idsCame = "take identifiers"

// begun is a hilo verify that runs.
type begun struct {
	t              *testing.T
	cancel         context.CancelFunc
	ended          chan struct{} // closed when it has
	stdout, stderr clitest.Watched
	seen           int // of stderr, by said
	code           int
}

func begin(t *testing.T, args ...string) *begun {
	t.Helper()
	b := &begun{t: t, ended: make(chan struct{})}
	var ctx context.Context
	ctx, b.cancel = context.WithCancel(t.Context())
	t.Cleanup(func() {
		if r := b.interrupt(); t.Failed() {
			t.Logf("exit %d, stderr %s", r.Code, r.Stderr)
		}
	})
	go func() {
		defer close(b.ended)
		b.code = clitest.Run(ctx, append([]string{"hilo", "verify", "--output", "json"}, args...), base.Env{Stdout: &b.stdout, Stderr: &b.stderr})
	}()
	return b
}

func (b *begun) interrupt() clitest.Result {
	b.cancel()
	return b.result()
}

// result waits for the end.
func (b *begun) result() clitest.Result {
	<-b.ended
	return clitest.Result{Code: b.code, Stdout: b.stdout.String(), Stderr: b.stderr.String()}
}

func (b *begun) over() bool {
	select {
	case <-b.ended:
		return true
	default:
		return false
	}
}

// said reports whether stderr has text behind what was found before.
func (b *begun) said(text string) bool {
	at := strings.Index(b.stderr.String()[b.seen:], text)
	if at < 0 {
		return false
	}
	b.seen += at + len(text)
	return true
}

// await returns when stderr has text behind what was found before.
func (b *begun) await(text string) {
	b.t.Helper()
	for {
		over := b.over()
		_, more := b.stderr.Now()
		if b.said(text) {
			return
		}
		if over {
			b.t.Fatalf("it ended before %q: %+v", text, b.result())
		}
		select {
		case <-more:
		case <-b.ended:
		}
	}
}
