package ravendb

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// wire is a handler and the client of its server.
type wire struct {
	*Handler
	t      testing.TB
	client *redis.Client
}

// newWire returns a handler that maps the database Shop to the namespace Raven, on a server with the tag A that is the home of
// identities.
func newWire(t testing.TB, s *redistest.Server, change ...func(*Options)) *wire {
	t.Helper()
	w := &wire{t: t, client: redistest.NewClient(t, s)}
	w.set("{Raven}/ServerPrefixForHilo", "NodeTag", "A", "Identities", "here")
	w.Handler = w.again(change...)
	return w
}

// again returns another handler on the same server, as after a restart.
func (w *wire) again(change ...func(*Options)) *Handler {
	w.t.Helper()
	opts := Options{Client: w.client, Databases: map[string]string{"Shop": "Raven"}}
	for _, c := range change {
		c(&opts)
	}
	return mustNew(w.t, opts)
}

func mustNew(t testing.TB, opts Options) *Handler {
	t.Helper()
	h, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(context.Background()) }) // its server may be gone
	return h
}

func (w *wire) set(key string, fields ...any) {
	w.t.Helper()
	if err := w.client.HSet(context.Background(), key, fields...).Err(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *wire) get(key, field string) string {
	w.t.Helper()
	value, err := w.client.HGet(context.Background(), key, field).Result()
	if err != nil && err != redis.Nil { //nolint:errorlint // as go-redis documents it
		w.t.Fatal(err)
	}
	return value
}

// send sends a request line unchanged.
func (w *wire) send(method, target string) *http.Response {
	return send(w.t, w.Handler, method, target)
}

func send(t testing.TB, h http.Handler, method, target string) *http.Response {
	t.Helper()
	path, query, _ := strings.Cut(target, "?")
	request := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	request.URL.RawQuery = query
	request.RequestURI = target
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, request)
	return recorder.Result()
}

func body(t testing.TB, response *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// next returns a range, and fails the test if the request is refused.
func (w *wire) next(query string) hiloRange { return next(w.t, w.Handler, query) }

func next(t testing.TB, h http.Handler, query string) hiloRange {
	t.Helper()
	got, err := tryNext(t, h, query)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// tryNext returns a range or an error. Unlike next it may be called from any goroutine, since it does not end the test.
func tryNext(t testing.TB, h http.Handler, query string) (got hiloRange, err error) {
	t.Helper()
	response := send(t, h, http.MethodGet, "/databases/Shop/hilo/next?"+query)
	text := body(t, response)
	if response.StatusCode != http.StatusCreated {
		return got, fmt.Errorf("%s: got %d %s, want 201", query, response.StatusCode, text)
	}
	err = json.Unmarshal([]byte(text), &got)
	return got, err
}

// answers sends a request and compares the answer.
func (w *wire) answers(method, target string, status int, want string) {
	w.t.Helper()
	response := w.send(method, target)
	if got := body(w.t, response); response.StatusCode != status || got != want {
		w.t.Errorf("%s %s: got %d %s, want %d %s", method, target, response.StatusCode, got, status, want)
	}
}
