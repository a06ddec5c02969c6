package access_test

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hilo-id/hilo/allocator/gateway/access"
)

// patience is how long a test waits for what has to happen.
const patience = time.Minute

// limitedServer serves a page at "/", and requests for "/wait" until release is closed, on at most max connections. It sends on idle
// for each connection that became idle.
func limitedServer(t *testing.T, max int, release, idle chan struct{}) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	server.Config = access.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-release
		}
		_, _ = io.WriteString(w, "page")
	}), nil)
	server.Listener = access.LimitConnections(server.Listener, max)
	note := server.Config.ConnState
	server.Config.ConnState = func(conn net.Conn, state http.ConnState) {
		if note(conn, state); state == http.StateIdle {
			idle <- struct{}{}
		}
	}
	t.Cleanup(server.Close)
	return server
}

// connection is one connection to a server, which it keeps open.
type connection struct {
	net.Conn
	*bufio.Reader
	t *testing.T
}

func dial(t *testing.T, server *httptest.Server) *connection {
	t.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String()) //nolint:noctx // it is local
	if err != nil {
		t.Fatal(err)
	}
	if server.TLS != nil {
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}}) //nolint:gosec // a server of this test
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	return &connection{conn, bufio.NewReader(conn), t}
}

func (c *connection) send(path string) {
	c.t.Helper()
	if _, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		c.t.Fatal(err)
	}
}

// get sends a request and reads the whole answer.
func (c *connection) get() {
	c.t.Helper()
	c.send("/")
	response, err := http.ReadResponse(c.Reader, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != http.StatusOK {
		c.t.Fatalf("got %d, %v, want 200", response.StatusCode, err)
	}
}

// ended reports whether the server closed the connection.
func (c *connection) ended() bool {
	_, err := c.ReadByte()
	return err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
}

func TestLimitConnectionsClosesTheLongestIdleOne(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*httptest.Server){"plain": (*httptest.Server).Start, "TLS": (*httptest.Server).StartTLS} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			release, idle := make(chan struct{}), make(chan struct{}, 100)
			defer close(release)
			server := limitedServer(t, 3, release, idle)
			start(server)
			first, second, busy := dial(t, server), dial(t, server), dial(t, server)
			busy.send("/wait")
			if _, err := busy.Peek(1); err != nil { // its answer began
				t.Fatal(err)
			}
			for _, c := range []*connection{second, first, second} {
				c.get()
				<-idle
			}
			third := dial(t, server)
			third.get()
			if !first.ended() {
				t.Error("the longest idle connection is open, want it closed for a new one")
			}
			second.get()
			third.get()
		})
	}
}

func TestLimitConnectionsWaitsForAnIdleOne(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	server := limitedServer(t, 1, release, make(chan struct{}, 100))
	server.Start()
	busy := dial(t, server)
	busy.send("/wait")
	if _, err := busy.Peek(1); err != nil {
		t.Fatal(err)
	}
	waits := dial(t, server)
	waits.send("/")
	close(release) // the answer ends, and the connection becomes idle
	if _, err := waits.Peek(1); err != nil {
		t.Errorf("got %v, want the answer to the request that waited", err)
	}
}

func TestLimitConnectionsServesNoMoreAtOnce(t *testing.T) {
	t.Parallel()
	const max, connections = 2, 20
	var serving, most atomic.Int64
	server := httptest.NewUnstartedServer(nil)
	server.Config = access.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, _ *http.Request) {
		now := serving.Add(1)
		for before := most.Load(); now > before && !most.CompareAndSwap(before, now); before = most.Load() {
		}
		runtime.Gosched()
		serving.Add(-1)
	}), nil)
	server.Listener = access.LimitConnections(server.Listener, max)
	server.Start()
	t.Cleanup(server.Close)
	var running sync.WaitGroup
	for range connections {
		c := dial(t, server)
		running.Go(func() {
			_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
			if _, err := http.ReadResponse(c.Reader, nil); err != nil { //nolint:bodyclose // it is empty
				t.Errorf("got %v, want an answer", err)
			}
		})
	}
	running.Wait()
	if got := most.Load(); got > max {
		t.Errorf("got %d requests at once, want at most %d", got, max)
	}
}

func TestLimitConnectionsEndsWhileOneWaits(t *testing.T) {
	t.Parallel()
	inner, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is local
	if err != nil {
		t.Fatal(err)
	}
	listener := access.LimitConnections(inner, 1)
	for range 2 {
		conn, err := net.Dial("tcp", inner.Addr().String()) //nolint:noctx // it is local
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
	accepted, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = accepted.Close() })
	ended := make(chan error, 1)
	go func() {
		_, err := listener.Accept()
		ended <- err
	}()
	if err := listener.Close(); err != nil {
		t.Error(err)
	}
	select {
	case err := <-ended:
		if err == nil {
			t.Error("got a connection beyond the limit, want an error")
		}
	case <-time.After(patience):
		t.Error("Accept did not end with the listener")
	}
}
