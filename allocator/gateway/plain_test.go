package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/gateway"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestIDsAreConsecutive(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		d := open(t, s)
		a := d.post("/v1/ids/orders")
		if a.body != `{"ids":["orders/NorthServer/1-A"]}` || a.header.Get("Content-Type") != "application/json" ||
			a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("got %+v, want orders/NorthServer/1-A as JSON with no-store", a)
		}
		if got := idsOf(t, d.post("/v1/ids/Orders?count=2")); !slices.Equal(got, []string{"Orders/NorthServer/33-A", "Orders/NorthServer/34-A"}) {
			t.Errorf("got %q, want Orders/NorthServer/33-A and 34-A", got)
		}
		var all []string
		for range 3 {
			all = append(all, idsOf(t, d.post("/v1/ids/users?count=10000"))...)
		}
		for i, id := range all {
			if id != fmt.Sprintf("users/NorthServer/%d-A", i+1) {
				t.Fatalf("got %s, want users/NorthServer/%d-A", id, i+1)
			}
		}
		if got := d.post("/v1/identities/companies?count=3"); got.body != `{"ids":["companies/1","companies/2","companies/3"]}` {
			t.Errorf("got %+v, want companies/1 to companies/3", got)
		}
		if got := idsOf(t, d.post("/v1/identities/companies%7C")); got[0] != "companies/4" {
			t.Errorf("got %q, want companies/4", got)
		}
	})
}

func TestIDsAreEscapedAsJSON(t *testing.T) {
	t.Parallel()
	d := open(t, redistest.StartMini(t))
	d.set(serverKey, "ServerPrefix", `\"<`)
	for path, want := range map[string]string{
		"%22a%5C": `"a\/\"<1-A`, "%3Cb%3E&": `<b>&/\"<1-A`, "Gr%C3%B6%C3%9Fe": `Größe/\"<1-A`,
	} {
		if got := idsOf(t, d.post("/v1/ids/"+path)); got[0] != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestIDsCostNoRoundTripMostly(t *testing.T) {
	t.Parallel()
	s := redistest.StartMini(t)
	d := open(t, s)
	idsOf(t, d.post("/v1/ids/orders"))
	var scripts atomic.Int64
	s.Hook(func(cmd string, _ []string) string {
		if strings.HasPrefix(cmd, "EVAL") {
			scripts.Add(1)
		}
		return ""
	})
	for range 2000 {
		idsOf(t, d.post("/v1/ids/orders?count=10"))
	}
	if n := scripts.Load(); n == 0 || n > 20 {
		t.Errorf("got %d requests to the server for 2,000 answers, want 1 to 20", n)
	}
}

func TestErrorsAreProblems(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		d := open(t, s, func(o *allocator.Options, _ *gateway.Options) { o.Limit = 40 })
		d.set(serverKey, "NewCounters", "no")
		d.set("{Raven}/HiLo/orders", "Max", 39)
		d.set("{Raven}/HiLo/broken", "Max", "x")
		for _, tt := range []struct {
			name, method, target string
			status               int
			kind                 string
		}{
			{"a name with white space", "POST", "/v1/ids/a%20b", 400, "ErrInvalidName"},
			{"a name with CR LF", "POST", "/v1/ids/a%0D%0AX-Evil:%201", 400, "ErrInvalidName"},
			{"a name with the separator", "POST", "/v1/ids/a%2Fb", 400, "ErrInvalidName"},
			{"a long name", "POST", "/v1/ids/" + strings.Repeat("a", 129), 400, "ErrInvalidName"},
			{"an identity with a bad name", "POST", "/v1/identities/%7C", 400, "ErrInvalidName"},
			{"an identity with two bars", "POST", "/v1/identities/companies%7C%7C", 400, "ErrInvalidName"},
			{"none", "POST", "/v1/ids/orders?count=0", 400, "ErrInvalidOptions"},
			{"too many", "POST", "/v1/ids/orders?count=10001", 400, "ErrInvalidOptions"},
			{"no number", "POST", "/v1/ids/orders?count=1e3", 400, "ErrInvalidOptions"},
			{"no count", "POST", "/v1/ids/orders?count=", 400, "ErrInvalidOptions"},
			{"two counts", "POST", "/v1/ids/orders?count=1&count=2", 400, "ErrInvalidOptions"},
			{"another parameter", "POST", "/v1/ids/orders?cuont=5", 400, "ErrInvalidOptions"},
			{"a percent sign that begins no escape", "POST", "/v1/ids/orders?count=%zz", 400, "ErrInvalidOptions"},
			{"another method", "GET", "/v1/ids/orders", 405, "about:blank"},
			{"another method still", "DELETE", "/v1/collections", 405, "about:blank"},
			{"another path", "GET", "/v1/idz", 404, "about:blank"},
			{"the root", "GET", "/", 404, "about:blank"},
			{"not seeded", "POST", "/v1/ids/users", 422, "ErrNotSeeded"},
			{"no such counter", "GET", "/v1/collections/users", 404, "ErrNotSeeded"},
			{"no such master", "GET", "/v1/collections?server=x", 400, "ErrInvalidOptions"},
			{"not what hilo writes", "POST", "/v1/ids/broken", 500, "ErrCorrupt"},
		} {
			t.Run(tt.name, func(t *testing.T) {
				wantProblem(t, d.send(tt.method, tt.target), tt.status, tt.kind)
			})
		}
		if got := idsOf(t, d.post("/v1/ids/orders")); got[0] != "orders/NorthServer/40-A" {
			t.Errorf("got %q, want orders/NorthServer/40-A", got)
		}
		wantProblem(t, d.post("/v1/ids/orders"), 422, "ErrExhausted")
		if n := d.client.DBSize(context.Background()).Val(); n != 3 {
			t.Errorf("got %d keys, want 3", n)
		}
	})
}

// The prefix is what is invalid, and not the name in the request.
func TestErrorsBlameAnInvalidPrefixOnTheServer(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		d := open(t, s)
		d.set(serverKey, "ServerPrefix", "Nore\u0301/") // not in NFC, which the scripts cannot see
		wantProblem(t, d.post("/v1/ids/orders"), http.StatusInternalServerError, "ErrCorrupt")
		wantProblem(t, d.send(http.MethodGet, "/v1/collections/orders"), http.StatusInternalServerError, "ErrCorrupt")
	})
}

func TestErrorsIncludeMixedUseOfAName(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		d := open(t, s)
		if err := d.client.HDel(t.Context(), serverKey, "ServerPrefix", "NodeTag").Err(); err != nil {
			t.Fatal(err)
		}
		idsOf(t, d.post("/v1/identities/companies"))
		wantProblem(t, d.post("/v1/ids/companies"), http.StatusConflict, "ErrMixed")
	})
}

func TestCollectionsAreAsOnTheCommandLine(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		d := open(t, s)
		if got := d.get("/v1/collections"); got.body != "[]" {
			t.Errorf("got %+v, want []", got)
		}
		d.set("{Raven}/HiLo/users", "Max", 2147483646, "Ranges", 3, "Name", "Users", "Raised", "2147500030", "Epoch", "1793836800000000002")
		d.set("{Raven}/HiLo/orders", "Max", 7, "Origin", "abc")
		const room = `"headroom":[{"bound":"2^31-1","left":1,`
		const counted = `"max":2147483646,"ceiling":2147500030,"ranges":3,"jumps":2,"born":"2026-11-05T00:00:00Z",`
		all := d.get("/v1/collections")
		first, second, _ := strings.Cut(all.body, "},{\"collection\"")
		if !strings.HasPrefix(first, `[{"collection":"orders","max":7,"ceiling":0,"ranges":0,"jumps":0,"headroom":`) || !strings.HasPrefix(second, `:"Users",`+counted+room) {
			t.Errorf("got %s, want orders with Max 7, then Users with %s and 1 left to 2^31-1", all.body, counted)
		}
		one := d.get("/v1/collections/USERS")
		if want := `{"collection":"Users","kind":"hilo",` + counted + `"origin":"","durable":"","key":"{Raven}/HiLo/users",` + room; !strings.HasPrefix(one.body, want) {
			t.Errorf("got %s, want it to begin with %s", one.body, want)
		}
		d.set(serverKey, "MinValue", 5, "MaxValue", "3000000000", "Durable", "always")
		if one := d.get("/v1/collections/users"); !strings.Contains(one.body, `"durable":"always","minValue":5,"maxValue":3000000000,`) {
			t.Errorf("got %s, want Durable and the interval", one.body)
		}
	})
}

func TestGatewayFailsAfterCloseOfTheAllocator(t *testing.T) {
	t.Parallel()
	d := open(t, redistest.StartMini(t))
	idsOf(t, d.post("/v1/ids/orders"))
	if err := d.ids.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantProblem(t, d.post("/v1/ids/orders"), 503, "ErrClosed")
	wantProblem(t, d.post("/v1/ids/users"), 503, "ErrClosed")
	if max := d.client.HGet(t.Context(), "{Raven}/HiLo/orders", "Max").Val(); max != "1" {
		t.Errorf("got Max %s, want 1", max)
	}
}

// The first range of a durable server waits for its ceiling. Without an append-only file there is none.
func TestGatewayOfADurableServer(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		d := open(t, s, func(_ *allocator.Options, o *gateway.Options) { o.Timeout = time.Second })
		d.set(serverKey, "Durable", "everysec")
		wantProblem(t, d.post("/v1/ids/orders"), 503, "ErrNotDurable")
		wantProblem(t, d.post("/v1/identities/companies"), 503, "ErrNotDurable")
		if err := d.client.ConfigSet(t.Context(), "appendonly", "yes").Err(); err != nil {
			t.Fatal(err)
		}
		awaitStatus(t, 200, func() answer { return d.post("/v1/ids/orders") })
		awaitStatus(t, 200, func() answer { return d.post("/v1/identities/companies") })
		awaitStatus(t, 201, func() answer { return d.get("/databases/Shop/hilo/next?tag=users") })
	})
}
