package gateway_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/gateway"
	"github.com/hilo-id/hilo/allocator/gateway/ravendb"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// serverKey is the key of the server's settings.
const serverKey = "{Raven}/ServerPrefixForHilo"

// door is a gateway over one server.
type door struct {
	http.Handler
	t      testing.TB
	client *redis.Client
	ids    *allocator.Allocator
}

// open returns a gateway for the plain API and the database Shop. Its server has the prefix NorthServer/ and the tag A, and is
// the home of identities.
func open(t testing.TB, s *redistest.Server, change ...func(*allocator.Options, *gateway.Options)) *door {
	t.Helper()
	options := redistest.Options(s)
	options.MaxRetries, options.DialerRetries = -1, 1
	options.ContextTimeoutEnabled = true
	d := &door{t: t, client: redis.NewClient(options)}
	d.set(serverKey, "ServerPrefix", "NorthServer/", "NodeTag", "A", "Identities", "here")
	idsOptions := allocator.Options{RefillTimeout: 10 * time.Second}
	opts := gateway.Options{
		Masters: []gateway.Master{{Client: d.client}},
		RavenDB: &ravendb.Options{Client: d.client, Databases: map[string]string{"Shop": "Raven"}},
		Timeout: 20 * time.Second,
	}
	for _, c := range change {
		c(&idsOptions, &opts)
	}
	var err error
	if d.ids, err = allocator.New(d.client, idsOptions); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.client.Close() })
	if d.Handler, err = gateway.New(d.ids, opts); err != nil {
		t.Fatal(err)
	}
	closeAfter(t, d.Handler, d.ids)
	return d
}

// closeAfter closes a gateway and its allocator at the end of the test. Their server may be gone by then.
func closeAfter(t testing.TB, h http.Handler, ids *allocator.Allocator) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = h.(interface{ Close(context.Context) error }).Close(ctx)
		_ = ids.Close(ctx)
	})
}

func (d *door) set(key string, fields ...any) {
	d.t.Helper()
	if err := d.client.HSet(context.Background(), key, fields...).Err(); err != nil {
		d.t.Fatal(err)
	}
}

// answer is a response of the gateway.
type answer struct {
	status int
	header http.Header
	body   string
}

func (d *door) send(method, target string, change ...func(*http.Request)) answer {
	d.t.Helper()
	return send(d.t, d.Handler, method, target, change...)
}

func send(t testing.TB, h http.Handler, method, target string, change ...func(*http.Request)) answer {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), method, target, nil)
	for _, c := range change {
		c(request)
	}
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, request)
	body, err := io.ReadAll(recorder.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{recorder.Code, recorder.Result().Header, strings.TrimSpace(string(body))}
}

func (d *door) post(target string) answer { d.t.Helper(); return d.send(http.MethodPost, target) }
func (d *door) get(target string) answer  { d.t.Helper(); return d.send(http.MethodGet, target) }

func decode[T any](t testing.TB, text string) (value T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("got %s, %v, want JSON", text, err)
	}
	return value
}

// idsOf returns the ids of a successful answer.
func idsOf(t testing.TB, a answer) []string {
	t.Helper()
	if a.status != http.StatusOK {
		t.Fatalf("got %d %s, want 200", a.status, a.body)
	}
	return decode[struct{ IDs []string }](t, a.body).IDs
}

// wantProblem checks that an answer is a problem of that kind.
func wantProblem(t testing.TB, a answer, status int, kind string) {
	t.Helper()
	p := decode[struct {
		Type, Title, Detail string
		Status              int
	}](t, a.body)
	if a.status != status || p.Status != status || p.Type != kind || p.Title == "" || p.Detail == "" ||
		a.header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("got %d %v %s, want %d %s", a.status, a.header, a.body, status, kind)
	}
	if retry := a.header.Get("Retry-After"); (retry != "") != (status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests) {
		t.Errorf("%d: got Retry-After %q, want one exactly with 429 and 503", a.status, retry)
	}
}
