package gateway_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/gateway"
	"github.com/hilo-id/hilo/allocator/gateway/ravendb"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// RavenDB's clients are served by one of several masters. Where another one adds the same, it serves them no more, as the
// allocator leaves it.
func TestBothHalvesLeaveAMasterWhoseIdentifiersAreAnothers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		d := open(t, s) // which is north
		south := redistest.StartMini(t).Client(t)
		southSays := []any{"ServerPrefix", "SouthServer/", "NodeTag", "B"}
		south.HSet(t.Context(), serverKey, southSays...)
		ids, err := allocator.NewMulti([]allocator.Server{{Name: "north", Client: d.client}, {Name: "south", Client: south}},
			allocator.Options{Runway: time.Millisecond, MaxCapacity: 32})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ids.Close(t.Context()) })
		d.Handler, err = gateway.New(ids, gateway.Options{
			Masters: []gateway.Master{{Name: "north", Client: d.client}, {Name: "south", Client: south}},
			RavenDB: &ravendb.Options{Client: d.client, Databases: map[string]string{"Shop": "Raven", "Mall": "Mall"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		const next = "/databases/Shop/hilo/next?tag=orders"
		given(t, d.post("/v1/ids/orders"))
		if got := d.get(next); got.status != http.StatusCreated {
			t.Fatalf("%+v", got)
		}
		d.set(serverKey, southSays...)
		for range 2 {
			if got := d.get(next); got.status != http.StatusInternalServerError || !strings.Contains(got.body, "ErrPrefixConflict: ") || !strings.Contains(got.body, "south") {
				t.Errorf("%+v", got)
			}
		}
		d.set("{Mall}/ServerPrefixForHilo", southSays...) // other identifiers
		if got := d.get(strings.Replace(next, "Shop", "Mall", 1)); got.status != http.StatusCreated {
			t.Errorf("%+v", got)
		}
		d.set(serverKey, "ServerPrefix", "NorthServer/", "NodeTag", "A")
		if got := d.get(next); got.status != http.StatusCreated {
			t.Errorf("%+v", got)
		}
	})
}
