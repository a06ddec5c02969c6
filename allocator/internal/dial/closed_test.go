package dial

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// go-redis by itself reports a broken pipe, or EOF, whatever the server replied.
func TestRememberReportsWhatAServerRepliedBeforeItClosed(t *testing.T) {
	t.Parallel()
	const full = "ERR max number of clients reached"
	for _, test := range []struct {
		name  string
		serve func(client net.Conn)
		reply string
	}{
		{"a refusal at once", func(client net.Conn) { _, _ = io.WriteString(client, "-"+full+"\r\n") }, full},
		{"a refusal of the first request", func(client net.Conn) {
			_, _ = client.Read(make([]byte, 100))
			_, _ = io.WriteString(client, "-"+full+"\r\n")
		}, full},
		{"nothing", func(net.Conn) {}, ""},
		{"a reset", func(client net.Conn) {
			_, _ = client.Read(make([]byte, 100))
			_ = client.(*net.TCPConn).SetLinger(0)
		}, ""},
		{"an alert of TLS", func(client net.Conn) { _, _ = client.Write([]byte{21, 3, 1, 0, 2, 2, 70}) }, ""},
	} {
		for name, dial := range map[string]func(*redis.Options) Func{
			"remembered": func(opts *redis.Options) Func { return Remember(redis.NewDialer(opts)) },
			"without it": redis.NewDialer,
		} {
			t.Run(test.name+", "+name, func(t *testing.T) {
				t.Parallel()
				opts := &redis.Options{
					Addr:       redistest.Listen(t, func(client net.Conn) { test.serve(client); _ = client.Close() }),
					MaxRetries: -1, DialerRetries: 1,
				}
				opts.Dialer = dial(opts)
				client := redis.NewClient(opts)
				t.Cleanup(func() { _ = client.Close() })
				err := client.Ping(t.Context()).Err()
				if name == "without it" {
					if err == nil || test.reply != "" && strings.Contains(err.Error(), test.reply) {
						t.Fatalf("the fault does not show: got %v", err)
					}
					return
				}
				closed, ok := errors.AsType[*ClosedError](err)
				if !ok {
					t.Fatalf("got %v, want a ClosedError", err)
				}
				if got := closed.Reply(); got != test.reply {
					t.Errorf("got the reply %q, want %q", got, test.reply)
				}
				if !strings.Contains(err.Error(), test.reply) || test.reply == "" && !strings.Contains(err.Error(), "before any reply") {
					t.Errorf("got the text %q", err)
				}
			})
		}
	}
}

func TestRememberReportsOnlyTheEndOfAConnectionThatServed(t *testing.T) {
	t.Parallel()
	dial, peer := pipes(t)
	c := mustDial(t, dial, "a:1")
	server := peer()
	go func() {
		for _, reply := range []string{"-ERR unknown command 'hello'\r\n", "+OK\r\n"} {
			_, _ = server.Read(make([]byte, 100))
			_, _ = io.WriteString(server, reply)
		}
		_ = server.Close()
	}()
	for range 2 {
		_, _ = io.WriteString(c, "request")
		_, _ = c.Read(make([]byte, 100))
	}
	if _, err := c.Read(make([]byte, 100)); err != io.EOF { //nolint:errorlint // nothing is added to it
		t.Errorf("got %v, want EOF", err)
	}
}
