package gateway_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/gateway"
	"github.com/hilo-id/hilo/allocator/gateway/ravendb"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// RavenDB's clients are served by one of several masters. If it gets the prefix and tag of another one, it refuses further
// requests.
func TestRavenDBRefusesAMasterWithThePrefixOfAnother(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		d := open(t, s) // which is north
		south := redistest.NewClient(t, redistest.StartMini(t))
		southDesc := []any{"ServerPrefix", "SouthServer/", "NodeTag", "B"}
		south.HSet(t.Context(), serverKey, southDesc...)
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
		idsOf(t, d.post("/v1/ids/orders"))
		if got := d.get(next); got.status != http.StatusCreated {
			t.Fatalf("got %+v, want 201", got)
		}
		d.set(serverKey, southDesc...)
		for range 2 {
			if got := d.get(next); got.status != http.StatusInternalServerError || !strings.Contains(got.body, "ErrPrefixConflict: ") || !strings.Contains(got.body, "south") {
				t.Errorf("got %+v, want 500, ErrPrefixConflict that names south", got)
			}
		}
		d.set("{Mall}/ServerPrefixForHilo", "NodeTag", "A") // a namespace that the allocator never used
		south.HSet(t.Context(), "{Mall}/ServerPrefixForHilo", "NodeTag", "A")
		if got := d.get(strings.Replace(next, "Shop", "Mall", 1)); got.status != http.StatusInternalServerError || !strings.Contains(got.body, "ErrPrefixConflict: ") {
			t.Errorf("got %+v, want 500, ErrPrefixConflict", got)
		}
		d.set(serverKey, "ServerPrefix", "NorthServer/", "NodeTag", "A")
		for range 50 { // it may be in back-off
			if got := d.get(next); got.status == http.StatusCreated {
				return
			}
		}
		t.Errorf("after the correction: got %+v, want 201", d.get(next))
	})
}

// The client of the RavenDB options has to be one of Masters, since it could not be compared with the others otherwise.
func TestNewRefusesARavenDBClientThatIsNoMaster(t *testing.T) {
	t.Parallel()
	s := redistest.StartMini(t)
	d := open(t, s)
	for name, tt := range map[string]struct {
		client redis.UniversalClient
		ok     bool
	}{"another": {redistest.NewClient(t, s), false}, "the same": {d.client, true}, "none": {nil, true}} {
		_, err := gateway.New(d.ids, gateway.Options{
			Masters: []gateway.Master{{Name: "north", Client: d.client}},
			RavenDB: &ravendb.Options{Client: tt.client},
		})
		if (err == nil) != tt.ok || err != nil && !errors.Is(err, allocator.ErrInvalidOptions) {
			t.Errorf("%s: got %v, want nil: %t", name, err, tt.ok)
		}
	}
}
