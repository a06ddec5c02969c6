package gateway_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/gateway"
	"github.com/hilo-id/hilo/allocator/gateway/access"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// secure serves a gateway by TLS and returns its URL, and a client for HTTP/1.1 and one for HTTP/2.
func secure(t *testing.T) (url string, one, two *http.Client) {
	t.Helper()
	d := open(t, redistest.StartMini(t), func(_ *allocator.Options, o *gateway.Options) {
		o.Loopback, o.RavenDB.Allocator.RefillTimeout = true, 10*time.Second
	})
	server := httptest.NewUnstartedServer(nil)
	server.Config = access.NewServer(d.Handler, nil)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	trusted := server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	older := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}}
	t.Cleanup(older.CloseIdleConnections)
	return server.URL, &http.Client{Transport: older}, server.Client()
}

// get sends a request and returns the protocol, the status and the body.
func get(ctx context.Context, client *http.Client, method, url, host string, body io.Reader, header map[string]string) (proto string, status int, text string, err error) {
	r, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return "", 0, "", err
	}
	r.Host = host
	for name, value := range header {
		r.Header.Set(name, value)
	}
	response, err := client.Do(r)
	if err != nil {
		return "", 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	read, err := io.ReadAll(response.Body)
	return response.Proto, response.StatusCode, string(read), err
}

// A gateway refuses the same requests with either protocol. In HTTP/2 the name of the host is a pseudo-header, and a body has no
// connection of its own.
func TestGatewayRefusesTheSameByHTTP2(t *testing.T) {
	t.Parallel()
	url, one, two := secure(t)
	const ids = "/v1/ids/orders"
	for _, test := range []struct {
		name, method, path, host string
		body                     string
		header                   map[string]string
		want                     int
	}{
		{"an id", http.MethodPost, ids, "", "", nil, http.StatusOK},
		{"an id, with a body", http.MethodPost, ids, "", strings.Repeat("a", 1000), nil, http.StatusOK},
		{"a range of RavenDB's", http.MethodGet, "/databases/Shop/hilo/next?tag=users", "", "", nil, http.StatusCreated},
		{"another host", http.MethodPost, ids, "foreign.example", "", nil, http.StatusMisdirectedRequest},
		{"another site", http.MethodPost, ids, "", "", map[string]string{"Sec-Fetch-Site": "cross-site"}, http.StatusForbidden},
		{"another site, of RavenDB's", http.MethodGet, "/databases/Shop/hilo/next?tag=users", "", "", map[string]string{"Sec-Fetch-Site": "cross-site"}, http.StatusForbidden},
		{"a long body", http.MethodPost, ids, "", strings.Repeat("a", 100_000), nil, http.StatusRequestEntityTooLarge},
		{"a long URL", http.MethodGet, ids + "?x=" + strings.Repeat("a", 9000), "", "", nil, http.StatusRequestURITooLong},
		{"no name", http.MethodPost, "/v1/ids/", "", "", nil, http.StatusNotFound},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for proto, client := range map[string]*http.Client{"HTTP/1.1": one, "HTTP/2.0": two} {
				got, status, text, err := get(t.Context(), client, test.method, url+test.path, test.host, strings.NewReader(test.body), test.header)
				if err != nil || got != proto || status != test.want {
					t.Errorf("%s: got %s, %d, %q, %v, want %d", proto, got, status, text, err, test.want)
				}
			}
		})
	}
}

// Streams that their client resets lose ids, and repeat none.
func TestResetStreamsRepeatNoID(t *testing.T) {
	t.Parallel()
	url, _, client := secure(t)
	var mu sync.Mutex // guards what follows
	seen := make(map[string]bool)
	reset := 0
	request := func(ctx context.Context) {
		proto, status, text, err := get(ctx, client, http.MethodPost, url+"/v1/ids/orders", "", nil, nil)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case errors.Is(err, context.Canceled):
			reset++
		case err != nil || status != http.StatusOK || proto != "HTTP/2.0":
			t.Errorf("got %s, %d, %q, %v, want an id by HTTP/2.0", proto, status, text, err)
		case seen[text]:
			t.Errorf("got %s twice", text)
		default:
			seen[text] = true
		}
	}
	request(t.Context()) // opens the connection of all the others, each of which would open one
	var running sync.WaitGroup
	for range 20 { // fewer than the streams that a server allows at a time
		running.Go(func() {
			for i := range 20 {
				ctx, cancel := context.WithCancel(t.Context())
				if i%2 == 0 {
					go cancel() // at any moment
				}
				request(ctx)
				cancel()
			}
		})
	}
	running.Wait()
	if reset == 0 || len(seen) < 200 {
		t.Errorf("got %d ids, and %d requests were reset, want 200 or more, and some", len(seen), reset)
	}
}
