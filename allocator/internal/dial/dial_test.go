package dial

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// pipes returns a dialer, and the other end of each connection that it dials.
func pipes(t *testing.T) (dial Func, peer func() net.Conn) {
	t.Helper()
	peers := make(chan net.Conn, 10)
	dial = Remember(func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		t.Cleanup(func() { _, _ = client.Close(), server.Close() })
		peers <- server
		return client, nil
	})
	return dial, func() net.Conn { return <-peers }
}

func mustDial(t *testing.T, dial Func, addr string) net.Conn {
	t.Helper()
	c, err := dial(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// usable reports whether the check of go-redis would keep an idle connection.
func usable(t *testing.T, c net.Conn) bool {
	t.Helper()
	socket, err := c.(syscall.Conn).SyscallConn()
	return err == nil && socket.Read(func(uintptr) bool { return true }) == nil
}

func TestRememberRefusesConnectionsOlderThanAFailure(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		reply string // "" if none comes
		want  bool   // whether older connections are used again
	}{
		{"no reply", "", false},
		{"served", "+OK\r\n", true},
		{"another error", "-WRONGTYPE Operation against a key\r\n", true},
		{"a value", "$16\r\n-READONLY value.\r\n", true},
		{"a refusal that quotes a name", "-HILO_MIXED key {Raven}/HiLo/READONLY is\r\n", true},
		{"READONLY", "-READONLY You can't write against a read only replica.\r\n", false},
		{"an error in bulk", "!29\r\nREADONLY You can't write now.\r\n", false},
		{"READONLY of a proxy", "-ERR READONLY You can't write against a read only slave\r\n", false},
		{"READONLY of an old script", "-ERR Error running script: @user_script:1: -READONLY You can't write against a read only replica.\r\n", false},
		{"MASTERDOWN", "-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.\r\n", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dial, peer := pipes(t)
			idle, elsewhere, failing := mustDial(t, dial, "a:1"), mustDial(t, dial, "b:1"), mustDial(t, dial, "a:1")
			_, _ = peer(), peer()
			server := peer()
			served := make(chan struct{})
			go func() {
				defer close(served)
				_, _ = server.Read(make([]byte, 100))
				if test.reply != "" {
					_, _ = server.Write([]byte(test.reply))
				}
			}()
			if _, err := failing.Write([]byte("request")); err != nil {
				t.Fatal(err)
			}
			if test.reply == "" {
				_ = failing.SetReadDeadline(time.Now().Add(time.Millisecond))
			}
			_, err := failing.Read(make([]byte, 200))
			if test.reply == "" && !os.IsTimeout(err) || test.reply != "" && err != nil {
				t.Fatalf("got %v, want a timeout only without a reply", err)
			}
			<-served
			if got := usable(t, idle); got != test.want {
				t.Errorf("an older connection: got usable %v, want %v", got, test.want)
			}
			if got := usable(t, failing); got != test.want {
				t.Errorf("the connection itself: got usable %v, want %v", got, test.want)
			}
			if !usable(t, elsewhere) {
				t.Error("a connection to another address: got unusable, want usable")
			}
			if !usable(t, mustDial(t, dial, "a:1")) {
				t.Error("a newer connection: got unusable, want usable")
			}
		})
	}
}

func TestRememberRefusesConnectionsOlderThanOneThatEnded(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(failing, server net.Conn) error{
		"a read": func(failing, server net.Conn) error {
			_ = server.Close()
			_, err := failing.Read(make([]byte, 1))
			return err
		},
		"a write": func(failing, server net.Conn) error {
			_ = server.Close()
			_, err := failing.Write([]byte("request"))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dial, peer := pipes(t)
			idle, elsewhere, failing := mustDial(t, dial, "a:1"), mustDial(t, dial, "b:1"), mustDial(t, dial, "a:1")
			_, _ = peer(), peer()
			if err := fail(failing, peer()); err == nil {
				t.Fatal("got <nil>, want an error")
			}
			if usable(t, idle) || usable(t, failing) {
				t.Error("older connections: got usable, want unusable")
			}
			if !usable(t, elsewhere) || !usable(t, mustDial(t, dial, "a:1")) {
				t.Error("another address, or a newer connection: got unusable, want usable")
			}
		})
	}
}

// A pool closes connections that were idle for long, and that says nothing about the others.
func TestRememberKeepsConnectionsWhenOneIsClosedHere(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	dial := Remember((&net.Dialer{}).DialContext)
	idle, closed := mustDial(t, dial, listener.Addr().String()), mustDial(t, dial, listener.Addr().String())
	t.Cleanup(func() { _ = idle.Close() })
	_ = closed.Close()
	if _, err := closed.Read(make([]byte, 1)); err == nil {
		t.Error("got <nil>, want an error")
	}
	if !usable(t, idle) {
		t.Error("got unusable, want usable")
	}
}

// Where the pool tests no connections, a suspect one sends nothing.
func TestRememberRefusesRequestsWhereThePoolTestsNothing(t *testing.T) {
	t.Parallel()
	var servers []net.Conn
	dial := remember(func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		t.Cleanup(func() { _, _ = client.Close(), server.Close() })
		servers = append(servers, server)
		return client, nil
	}, true)
	idle, failing := mustDial(t, dial, "a:1"), mustDial(t, dial, "a:1")
	_ = servers[1].Close()
	_, _ = failing.Read(make([]byte, 1))
	if n, err := idle.Write([]byte("request")); n != 0 || !errors.Is(err, ErrSuspect) {
		t.Errorf("got %d, %v, want 0, ErrSuspect", n, err)
	}
}

// Two requests that time out one after the other discard a connection that was opened in between once, or never.
func TestRememberKeepsConnectionsThatAreNewerThanTheOneThatFails(t *testing.T) {
	t.Parallel()
	dial, peer := pipes(t)
	fail := func(c, server net.Conn) {
		received := make(chan struct{})
		go func() { _, _ = server.Read(make([]byte, 100)); close(received) }()
		_, _ = c.Write([]byte("request"))
		<-received
		_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
		_, _ = c.Read(make([]byte, 1))
	}
	first, second := mustDial(t, dial, "a:1"), mustDial(t, dial, "a:1")
	firstPeer, secondPeer := peer(), peer()
	fail(first, firstPeer)
	newer := mustDial(t, dial, "a:1")
	fail(second, secondPeer)
	if !usable(t, newer) {
		t.Error("got unusable, want usable")
	}
}

// A subscriber waits for messages with a deadline, and has no request without a reply.
func TestRememberTakesAnIdleReadForNoFailure(t *testing.T) {
	t.Parallel()
	dial, _ := pipes(t)
	subscriber := mustDial(t, dial, "a:1")
	_ = subscriber.SetReadDeadline(time.Now().Add(time.Millisecond))
	if _, err := subscriber.Read(make([]byte, 1)); !os.IsTimeout(err) {
		t.Fatalf("got %v, want a timeout", err)
	}
	if !usable(t, subscriber) {
		t.Error("got unusable, want usable")
	}
}

// An address that moves from a demoted server to its successor, such as a virtual one, is dialed again after one reply, in
// whatever wording.
func TestRememberFollowsAnAddressThatMoved(t *testing.T) {
	t.Parallel()
	var moved, connections = make(chan struct{}), make(chan int, 10)
	addr := redistest.Listen(t, func(client net.Conn) {
		defer func() { _ = client.Close() }()
		connections <- 1
		reply := "-ERR READONLY You can't write against a read only slave\r\n"
		select {
		case <-moved:
			reply = "+PONG\r\n"
		default:
		}
		request := make([]byte, 1000)
		for {
			n, err := client.Read(request)
			if err != nil {
				return
			}
			answer := reply
			if strings.Contains(string(request[:n]), "hello") {
				answer = "-ERR unknown command 'hello'\r\n"
			}
			if _, err := client.Write([]byte(answer)); err != nil {
				return
			}
		}
	})
	opts := &redis.Options{Addr: addr, MaxRetries: -1, Protocol: 2, DisableIdentity: true}
	opts.Dialer = Remember(redis.NewDialer(opts))
	client := redis.NewClient(opts)
	t.Cleanup(func() { _ = client.Close() })
	if err := client.Ping(t.Context()).Err(); err == nil {
		t.Fatal("got <nil>, want READONLY")
	}
	close(moved)
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Errorf("got %v, want <nil>", err)
	}
	if n := len(connections); n != 2 {
		t.Errorf("got %d connections, want 2", n)
	}
}
