package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/gateway"
	"github.com/hilo-id/hilo/allocator/gateway/access"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// listening is a gateway that listens at an address.
type listening struct {
	*door
	addr string
}

func listen(t *testing.T, most int, change func(*http.Server), options ...func(*allocator.Options, *gateway.Options)) *listening {
	t.Helper()
	d := open(t, redistest.StartMini(t), options...)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := access.NewServer(d.Handler, nil)
	if change != nil {
		change(server)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(access.LimitConnections(listener, most)); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}()
	t.Cleanup(func() { _ = server.Close(); <-done })
	return &listening{d, listener.Addr().String()}
}

func (l *listening) dial() net.Conn {
	l.t.Helper()
	conn, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", l.addr)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// exchange sends parts as one connection and returns the status of the reply, or 0 if the connection is closed without one.
func (l *listening) exchange(parts ...io.Reader) int {
	l.t.Helper()
	conn := l.dial()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, _ = io.Copy(conn, io.MultiReader(parts...)) // the connection may be closed early
	}()
	defer func() { _ = conn.Close(); <-sent }()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	return response.StatusCode
}

const tenMB = 10 << 20

func many(text string) io.Reader { return strings.NewReader(strings.Repeat(text, tenMB/len(text))) }

//nolint:paralleltest // it measures memory, which tests in parallel would share
func TestGatewaySurvivesHostileInput(t *testing.T) {
	l := listen(t, 100, nil)
	text := strings.NewReader
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for _, tt := range []struct {
		name  string
		parts []io.Reader
		want  []int
	}{
		{"10 MB of one header", []io.Reader{text("POST /v1/ids/orders HTTP/1.1\r\nHost: x\r\nX-A: "), many("a"), text("\r\n\r\n")}, []int{431, 0}},
		{"10 MB of headers", []io.Reader{text("POST /v1/ids/orders HTTP/1.1\r\nHost: x\r\n"), many("X-A: a\r\n"), text("\r\n")}, []int{431, 0}},
		{"10 MB of URL", []io.Reader{text("POST /v1/ids/"), many("a"), text(" HTTP/1.1\r\nHost: x\r\n\r\n")}, []int{431, 0}},
		{"10 MB of query", []io.Reader{text("GET /databases/Shop/hilo/next?tag="), many("a"), text(" HTTP/1.1\r\nHost: x\r\n\r\n")}, []int{431, 0}},
		{"10 kB of query", []io.Reader{text("GET /databases/Shop/hilo/next?tag=" + strings.Repeat("a", 10_000) + " HTTP/1.1\r\nHost: x\r\n\r\n")}, []int{414}},
		{"10 MB of body", []io.Reader{text(fmt.Sprintf("POST /v1/ids/orders HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", tenMB)), many("a")}, []int{413, 0}},
		{"10 MB of body in chunks", []io.Reader{text("POST /v1/ids/orders HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"), many("4\r\naaaa\r\n"), text("0\r\n\r\n")}, []int{413, 0}},
		{"10 MB of body of RavenDB's", []io.Reader{text(fmt.Sprintf("PUT /databases/Shop/hilo/return?tag=a&end=1&last=1 HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", tenMB)), many("a")}, []int{413, 0}},
		{"a bad chunk", []io.Reader{text("POST /v1/ids/orders HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")}, []int{400}},
		{"a percent sign in a path", []io.Reader{text("POST /v1/ids/%zz HTTP/1.1\r\nHost: x\r\n\r\n")}, []int{400}},
		{"a percent sign in a query", []io.Reader{text("GET /databases/Shop/hilo/next?tag=%zz HTTP/1.1\r\nHost: x\r\n\r\n")}, []int{400}},
		{"a NUL", []io.Reader{text("POST /v1/ids/a%00b HTTP/1.1\r\nHost: x\r\n\r\n")}, []int{400}},
		{"CR LF in a name", []io.Reader{text("POST /v1/ids/a%0d%0aSet-Cookie:%20a HTTP/1.1\r\nHost: x\r\n\r\n")}, []int{400}},
		{"CR LF in a tag", []io.Reader{text("GET /databases/Shop/hilo/next?tag=a%0d%0aSet-Cookie:a HTTP/1.1\r\nHost: x\r\n\r\n")}, []int{400}},
		{"CR LF in a database", []io.Reader{text("GET /topology?name=a%0d%0aSet-Cookie:a HTTP/1.1\r\nHost: x\r\n\r\n")}, []int{400}},
		{"another database", []io.Reader{text("GET /topology?name=Mall HTTP/1.1\r\nHost: x\r\n\r\n")}, []int{503}},
		{"bytes that are no UTF-8", []io.Reader{text("POST /v1/ids/%ff HTTP/1.1\r\nHost: x\r\n\r\n")}, []int{400}},
		{"HEAD, which is not to take anything", []io.Reader{text("HEAD /databases/Shop/hilo/next?tag=a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")}, []int{501}},
		{"a way out", []io.Reader{text("POST /v1/ids/../../x HTTP/1.1\r\nHost: x\r\n\r\n")}, []int{307, 301, 404}},
		{"no HTTP", []io.Reader{text("EHLO x\r\n\r\n")}, []int{400}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := l.exchange(tt.parts...)
			if !slices.Contains(tt.want, got) {
				t.Errorf("got status %d, want one of %d", got, tt.want)
			}
		})
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 64<<20 {
		t.Errorf("got %d MB more in use, want at most 64", grown>>20)
	}
	if n := l.client.DBSize(t.Context()).Val(); n != 1 {
		t.Errorf("got %d keys, want 1, the server's own", n)
	}
}

func TestServerDisconnectsSlowClients(t *testing.T) {
	t.Parallel()
	l := listen(t, 100, func(s *http.Server) {
		if s.ReadHeaderTimeout <= 0 || s.ReadHeaderTimeout > 10*time.Second || s.ReadTimeout <= 0 || s.ReadTimeout > 30*time.Second {
			t.Errorf("got ReadHeaderTimeout %v, ReadTimeout %v, want above 0, at most 10s and 30s", s.ReadHeaderTimeout, s.ReadTimeout)
		}
		s.ReadHeaderTimeout, s.ReadTimeout = 100*time.Millisecond, 100*time.Millisecond // in less time
	})
	for name, request := range map[string]string{
		"one that says nothing":        "",
		"one that stops in its header": "POST /v1/ids/orders HTTP/1.1\r\nHost: x",
		"one that sends no body":       "POST /v1/ids/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := l.dial()
			if _, err := io.WriteString(conn, request); err != nil {
				t.Fatal(err)
			}
			_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
			said, err := io.ReadAll(conn)
			if err != nil || bytes.Contains(said, []byte("200 OK")) {
				t.Errorf("got %q, %v, want a connection that ends without 200 OK", said, err)
			}
		})
	}
	t.Run("one that sends a byte at a time", func(t *testing.T) {
		t.Parallel()
		conn := l.dial()
		pace := time.NewTicker(time.Millisecond) // being slow is what the test is about
		defer pace.Stop()
		for _, b := range []byte("POST /v1/ids/orders HTTP/1.1\r\nHost: " + strings.Repeat("x", 1000)) {
			if _, err := conn.Write([]byte{b}); err != nil {
				return // the connection was closed
			}
			<-pace.C
		}
		t.Error("got every byte accepted, want the connection closed")
	})
}

func TestServerAnswersAThousandConnections(t *testing.T) {
	t.Parallel()
	l := listen(t, 300, nil)
	var wait sync.WaitGroup
	seen := make(map[string]bool)
	var mu sync.Mutex
	for range 1000 {
		wait.Go(func() {
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			response, err := client.Post("http://"+l.addr+"/v1/ids/orders", "", nil) //nolint:noctx // a test's own
			if err != nil {
				t.Error(err)
				return
			}
			defer response.Body.Close()
			body, _ := io.ReadAll(response.Body)
			mu.Lock()
			defer mu.Unlock()
			seen[string(body)] = true
		})
	}
	wait.Wait()
	if len(seen) != 1000 {
		t.Errorf("got %d different answers, want 1000", len(seen))
	}
}
