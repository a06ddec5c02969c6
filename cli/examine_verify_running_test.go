package cli

import (
	"context"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/clitest"
)

// idsCame is printed when the first identifiers are recorded.
const idsCame = "take identifiers"

// quietly is for the URL of a server that is killed. After pool_size failed dials go-redis keeps dialing for a second, even
// after the client is closed.
const quietly = "?pool_size=10000"

// runningVerify is a hilo verify that runs in the background.
type runningVerify struct {
	t              *testing.T
	cancel         context.CancelFunc
	ended          chan struct{}
	stdout, stderr clitest.Watched
	seen           int // bytes of stderr that printed has searched
	code           int
}

func startVerify(t *testing.T, args ...string) *runningVerify {
	t.Helper()
	b := &runningVerify{t: t, ended: make(chan struct{})}
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

func (b *runningVerify) interrupt() clitest.Result {
	b.cancel()
	return b.result()
}

// result waits for the end and returns the result.
func (b *runningVerify) result() clitest.Result {
	<-b.ended
	return clitest.Result{Code: b.code, Stdout: b.stdout.String(), Stderr: b.stderr.String()}
}

func (b *runningVerify) over() bool {
	select {
	case <-b.ended:
		return true
	default:
		return false
	}
}

// printed reports whether stderr has text after the last text that was found.
func (b *runningVerify) printed(text string) bool {
	at := strings.Index(b.stderr.String()[b.seen:], text)
	if at < 0 {
		return false
	}
	b.seen += at + len(text)
	return true
}

// await waits until printed(text) is true.
func (b *runningVerify) await(text string) {
	b.t.Helper()
	for {
		over := b.over()
		_, more := b.stderr.Now()
		if b.printed(text) {
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
