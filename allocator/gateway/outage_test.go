package gateway_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/gateway"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestGatewayServesDuringAnOutage(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		d := open(t, s)
		idsOf(t, d.post("/v1/ids/orders"))
		if a := d.get("/databases/Shop/hilo/next?tag=users"); a.status != 201 {
			t.Fatalf("got %+v, want 201", a)
		}
		s.Kill()
		// Numbers in hand are still issued.
		for range 10 {
			idsOf(t, d.post("/v1/ids/orders"))
		}
		if a := d.get("/readyz"); a.status != 200 {
			t.Errorf("got %+v, want 200", a)
		}
		wantProblem(t, d.post("/v1/ids/users"), 503, "ErrUnavailable")
		wantProblem(t, d.post("/v1/identities/companies"), 503, "ErrUnavailable")
		wantProblem(t, d.get("/v1/collections"), 503, "ErrUnavailable")
		for _, tt := range []struct{ method, target string }{
			{"GET", "/databases/Shop/hilo/next?tag=users"},
			{"POST", "/databases/Shop/identity/next?name=companies%7C"},
			{"POST", "/databases/Shop/identity/seed?name=companies%7C&value=5"},
			{"GET", "/databases/Shop/debug/identities"},
			{"GET", "/databases/Shop/healthcheck"},
			{"GET", "/databases/Shop/stats"},
			{"GET", "/cluster/node-info"},
		} {
			a := d.send(tt.method, tt.target)
			if a.status != 503 || a.header.Get("Retry-After") == "" || !strings.Contains(a.body, `"Message":"ErrUnavailable: `) {
				t.Errorf("%s %s: got %+v, want 503 with Retry-After, ErrUnavailable", tt.method, tt.target, a)
			}
		}
		s.Restart()
		d.set(serverKey, "NodeTag", "A", "Identities", "here")
		awaitStatus(t, 200, func() answer { return d.post("/v1/ids/users") })
		awaitStatus(t, 200, func() answer { return d.post("/v1/identities/companies") })
		awaitStatus(t, 201, func() answer { return d.get("/databases/Shop/hilo/next?tag=products") })
		if a := d.get("/databases/Shop/hilo/next?tag=users"); strings.Contains(a.body, `"Low":1,`) || a.status != 201 {
			t.Errorf("got %+v, want 201 and a range that was not issued before the outage", a)
		}
	})
}

// Callers that retry at once open few connections to a server that is down, whatever they request. The server accepts connections
// and closes them. go-redis itself limits only connections that are refused.
func TestGatewayOpensFewConnectionsDuringAnOutage(t *testing.T) {
	t.Parallel()
	for _, target := range []string{
		"GET /v1/collections",
		"GET /v1/collections/orders",
		"GET /topology?name=Shop",
		"GET /cluster/node-info",
		"GET /databases/Shop/hilo/next?tag=users&lastMax=32",
		"POST /databases/Shop/identity/next?name=companies%7C",
		"POST /databases/Shop/identity/seed?name=companies%7C&value=5",
		"GET /databases/Shop/debug/identities",
		"GET /databases/Shop/healthcheck",
	} {
		for _, name := range []string{"from the start", "later"} {
			t.Run(target+" "+name, func(t *testing.T) {
				t.Parallel()
				const callers, seconds, most = 8, 1, 20
				proxy := redistest.NewProxy(t, redistest.StartMini(t))
				options := allocator.Tune(redistest.Options(proxy))
				dials := redistest.CountDials(options)
				client := redis.NewClient(options)
				t.Cleanup(func() { _ = client.Close() })
				d := open(t, redistest.StartMini(t), func(_ *allocator.Options, o *gateway.Options) {
					o.Masters[0].Client, o.RavenDB.Client = client, client
				})
				if err := client.HSet(t.Context(), serverKey, "NodeTag", "A", "Identities", "here").Err(); err != nil {
					t.Fatal(err)
				}
				if name == "later" {
					awaitStatus(t, 201, func() answer { return d.get("/databases/Shop/hilo/next?tag=orders") })
				}
				proxy.Refuse(true)
				proxy.Cut()
				before, began := dials.Load(), time.Now()
				method, path, _ := strings.Cut(target, " ")
				var running sync.WaitGroup
				for range callers {
					running.Go(func() {
						for time.Since(began) < seconds*time.Second {
							d.send(method, path)
						}
					})
				}
				running.Wait()
				if n, limit := dials.Load()-before, callers+int64(most*time.Since(began).Seconds()); n > limit {
					t.Errorf("got %d connections in %v of %d callers, want at most %d", n, time.Since(began), callers, limit)
				}
			})
		}
	}
}

// awaitStatus repeats a request until the answer has that status.
func awaitStatus(t *testing.T, status int, send func() answer) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for a := send(); a.status != status; a = send() {
		if time.Now().After(deadline) {
			t.Fatalf("got %+v, want %d", a, status)
		}
	}
}

func TestReadyzFailsWithoutRangesAndServer(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		d := open(t, s)
		s.Kill()
		a := d.get("/readyz")
		if a.status != 503 || a.body != "no numbers in hand, and no server is up" {
			t.Errorf("got %+v, want 503, no numbers in hand, and no server is up", a)
		}
		if a := d.get("/healthz"); a.status != 200 || a.body != "alive" {
			t.Errorf("got %+v, want 200, alive", a)
		}
		s.Restart()
		awaitStatus(t, 200, func() answer { return d.get("/readyz") })
	})
}

func TestGatewayWritesNothingToAClientThatIsGone(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		d := open(t, s)
		idsOf(t, d.post("/v1/ids/users"))
		s.Pause()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Millisecond, cancel)
		a := d.send("POST", "/v1/ids/orders", func(r *http.Request) { *r = *r.WithContext(ctx) })
		if a.body != "" {
			t.Errorf("got %+v, want no body", a)
		}
		s.Resume()
		awaitStatus(t, 200, func() answer { return d.post("/v1/ids/orders") })
	})
}

func TestMetricsCountAnswers(t *testing.T) {
	t.Parallel()
	d := open(t, redistest.StartMini(t))
	idsOf(t, d.post("/v1/ids/orders"))
	idsOf(t, d.post("/v1/ids/users"))
	d.post("/v1/ids/a%20b")
	d.get("/nothing")
	d.get("/databases/Shop/hilo/next?tag=users")
	d.get("/databases/Shop/docs")
	text := d.get("/metrics").body
	for _, want := range []string{
		`hilo_gateway_requests_total{code="200",route="POST /v1/ids/{collection}"} 2`,
		`hilo_gateway_requests_total{code="400",route="POST /v1/ids/{collection}"} 1`,
		`hilo_gateway_requests_total{code="404",route="other"} 1`,
		`hilo_gateway_requests_total{code="201",route="GET /databases/{database}/hilo/next"} 1`,
		`hilo_gateway_requests_total{code="501",route="other"} 1`,
		`hilo_gateway_request_seconds_count{route="POST /v1/ids/{collection}"} 3`,
		`hilo_gateway_refusals_total{reason="request"} 3`,
		`hilo_gateway_refusals_total{reason="server"} 0`,
		`hilo_gateway_requests_under_way 1`,
		`hilo_gateway_jumps_total 0`,
		`collection="orders"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("got no %s in the metrics, want it", want)
		}
	}
}
