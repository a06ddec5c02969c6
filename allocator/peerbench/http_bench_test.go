package peerbench_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator/gateway"
	"github.com/hilo-id/hilo/allocator/gateway/access"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// BenchmarkHTTP measures 32 kept-alive connections, each of which requests one identifier after the other. It compares the
// gateway with a handler that only writes the same answer, and with one that sends a request to Redis each time.
func BenchmarkHTTP(b *testing.B) {
	const connections = 32
	ctx := context.Background()
	opts := redistest.Options(startServer(b))
	opts.PoolSize = connections // so that INCR waits for nothing but the server
	client := redis.NewClient(opts)
	b.Cleanup(func() { _ = client.Close() })

	answer := func(w http.ResponseWriter, body []byte) {
		header := w.Header()
		header.Set("Content-Type", "application/json")
		header.Set("Cache-Control", "no-store")
		header.Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body) // the client reads all of it
	}
	same := []byte(`{"ids":["orders/NorthServer/4194305"]}` + "\n")
	bare := http.NewServeMux()
	bare.HandleFunc("POST /v1/ids/{collection}", func(w http.ResponseWriter, _ *http.Request) { answer(w, same) })
	incr := http.NewServeMux()
	incr.HandleFunc("POST /v1/ids/{collection}", func(w http.ResponseWriter, r *http.Request) {
		number, err := client.Incr(r.Context(), r.PathValue("collection")).Result()
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		answer(w, fmt.Appendf(nil, `{"ids":["orders/NorthServer/%d"]}`+"\n", number))
	})
	ids, _ := warmOrders(ctx, b, client)
	plain, err := gateway.New(ids, gateway.Options{})
	if err != nil {
		b.Fatal(err)
	}
	for _, served := range []struct {
		name    string
		handler http.Handler
	}{{"net.http with the same answer", bare}, {"gateway", plain}, {"INCR per request", incr}} {
		b.Run(served.name, func(b *testing.B) {
			addr := serveHTTP(b, served.handler)
			waiting := make(chan *httpConn, connections)
			for range connections {
				waiting <- dialHTTP(b, addr)
			}
			shareAmong(b, connections, func(n int) {
				one := <-waiting
				defer func() { waiting <- one }()
				for range n {
					if err := one.request(); err != nil {
						b.Error(err)
						return
					}
				}
			})
			reportRate(b)
		})
	}
}

func serveHTTP(b *testing.B, handler http.Handler) (addr string) {
	b.Helper()
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	server := access.NewServer(handler, nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(access.LimitConnections(listener, 4096)); !errors.Is(err, http.ErrServerClosed) {
			b.Error(err)
		}
	}()
	b.Cleanup(func() { _ = server.Close(); <-done })
	return listener.Addr().String()
}

// httpConn is one connection of a client. It does as little as possible, since it shares the processors with the servers.
type httpConn struct {
	conn net.Conn
	from *bufio.Reader
}

func dialHTTP(b *testing.B, addr string) *httpConn {
	b.Helper()
	conn, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close() })
	return &httpConn{conn, bufio.NewReader(conn)}
}

var (
	httpRequest = []byte("POST /v1/ids/orders HTTP/1.1\r\nHost: ids\r\n\r\n")
	okLine      = []byte("HTTP/1.1 200 OK\r\n")
	lengthField = []byte("Content-Length: ")
)

func (c *httpConn) request() error {
	if _, err := c.conn.Write(httpRequest); err != nil {
		return err
	}
	length := 0
	for first := true; ; first = false {
		line, err := c.from.ReadSlice('\n')
		switch {
		case err != nil:
			return err
		case first && !bytes.Equal(line, okLine):
			return fmt.Errorf("%w: %s", errors.ErrUnsupported, line)
		case bytes.HasPrefix(line, lengthField):
			if length, err = strconv.Atoi(string(bytes.TrimSpace(line[len(lengthField):]))); err != nil {
				return err
			}
		case len(line) == 2:
			_, err := io.CopyN(io.Discard, c.from, int64(length))
			return err
		}
	}
}
