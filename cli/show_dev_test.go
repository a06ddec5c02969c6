package cli

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/target"
)

func TestDevServesUntilItsContextEnds(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"text", "json"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			reader, pipe := io.Pipe()
			var stderr bytes.Buffer
			ended := make(chan int)
			go func() {
				out, err := clitest.Writer(pipe.Write), clitest.Writer(stderr.Write)
				ended <- clitest.RunTo(ctx, &out, &err, "dev", "--addr", "127.0.0.1:0", "--output", format)
			}()
			url := announcedByDev(t, reader, format)
			go func() { _, _ = io.Copy(io.Discard, reader) }()

			for _, want := range []string{"orders/1\n", "orders/2\n"} {
				if got := clitest.Must(t, "next", "orders", "--redis", url); got != want {
					t.Errorf("%q, want %q", got, want)
				}
			}
			cancel()
			if code := <-ended; code != exit.Done || stderr.Len() > 0 {
				t.Errorf("exit %d, stderr %q", code, stderr.String())
			}
			_ = pipe.Close()
			clitest.MustFail(t, exit.Unavailable, clitest.Hilo(t, "next", "orders", "--redis", url))
		})
	}
}

// announcedByDev returns the URL that dev prints.
func announcedByDev(t *testing.T, output io.Reader, format string) string {
	t.Helper()
	lines := bufio.NewReader(output)
	if format == "text" {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(line)
	}
	var text string
	for !strings.HasSuffix(text, "}\n") {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		text += line
	}
	return clitest.Decode[devStarted](t, text).URL
}

func TestDevReportsAnAddressInUse(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	addr := listener.Addr().String()
	clitest.MustFail(t, exit.Failed, clitest.Hilo(t, "dev", "--addr", addr), addr+" is in use already", "--addr 127.0.0.1:0")
}

func TestDevReportsAForeignAddress(t *testing.T) {
	t.Parallel()
	clitest.MustFail(t, exit.Failed, clitest.Hilo(t, "dev", "--addr", "192.0.2.1:0"), "cannot listen at 192.0.2.1:0", "--addr")
}

func TestEmbeddedServersAreIndependent(t *testing.T) {
	t.Parallel()
	for range 2 {
		if got := clitest.Must(t, "next", "orders", "--redis", "embedded:"); got != "orders/1\n" {
			t.Errorf("%q", got)
		}
	}
}

func TestEmbeddedServerIsStopped(t *testing.T) {
	t.Parallel()
	embedded := target.Target{Embedded: true}
	var addr string
	err := embedded.Alone().Use(t.Context(), 0, func(o target.Opened) error {
		addr = o.Clients[0].Addr()
		_, err := o.Clients[0].Redis.DBSize(t.Context()).Result()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	clitest.MustFail(t, exit.Unavailable, clitest.Hilo(t, "list", "--redis", "redis://"+addr))
}
