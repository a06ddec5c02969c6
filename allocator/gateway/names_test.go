package gateway_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/gateway"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestGatewayBoundsNames(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		d := open(t, s, func(_ *allocator.Options, o *gateway.Options) { o.MaxNames = 3 })
		known := []string{"/v1/ids/orders", "/v1/ids/Orders", "/v1/identities/companies"}
		for _, target := range known {
			idsOf(t, d.post(target))
		}
		keys := d.client.DBSize(t.Context()).Val()
		for _, target := range []string{"/v1/ids/users", "/v1/ids/companies", "/v1/ids/ORDERS", "/v1/identities/orders", "/v1/identities/people"} {
			wantProblem(t, d.post(target), http.StatusTooManyRequests, "about:blank")
		}
		wantProblem(t, d.post("/v1/ids/a%20b"), http.StatusBadRequest, "ErrInvalidName")
		for _, target := range append(known, "/v1/identities/COMPANIES", "/v1/identities/companies%7C") {
			idsOf(t, d.post(target))
		}
		if got := d.client.DBSize(t.Context()).Val(); got != keys {
			t.Errorf("got %d keys, want %d as before the refused requests", got, keys)
		}
	})
}

func TestGatewayServesTheNamesThatItsAllocatorHasUsed(t *testing.T) {
	t.Parallel()
	d := open(t, redistest.StartMini(t))
	if err := d.ids.Warm(t.Context(), "orders", "users"); err != nil {
		t.Fatal(err)
	}
	var err error
	if d.Handler, err = gateway.New(d.ids, gateway.Options{MaxNames: 1}); err != nil {
		t.Fatal(err)
	}
	idsOf(t, d.post("/v1/ids/orders"))
	idsOf(t, d.post("/v1/ids/users"))
	wantProblem(t, d.post("/v1/ids/invoices"), http.StatusTooManyRequests, "about:blank")
	if _, err := gateway.New(d.ids, gateway.Options{MaxNames: -1}); !errors.Is(err, allocator.ErrInvalidOptions) {
		t.Errorf("MaxNames -1: got %v, want ErrInvalidOptions", err)
	}
}
