package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/gateway"
	"github.com/hilo-id/hilo/allocator/gateway/ravendb"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// pair is two gateways with the same two masters in opposite order.
type pair struct {
	t            *testing.T
	north, south *redis.Client
	first, other http.Handler
}

func newPair(t *testing.T, s *redistest.Server) *pair {
	t.Helper()
	p := &pair{t: t, north: redistest.NewClient(t, s), south: redistest.NewClient(t, redistest.StartMini(t))}
	north, south := gateway.Master{Name: "north", Client: p.north}, gateway.Master{Name: "south", Client: p.south}
	p.first, p.other = gatewayOf(t, north, south), gatewayOf(t, south, north)
	return p
}

// gatewayOf returns a gateway whose RavenDB half is served by the first of these masters.
func gatewayOf(t *testing.T, masters ...gateway.Master) http.Handler {
	t.Helper()
	var servers []allocator.Server
	for _, m := range masters {
		servers = append(servers, allocator.Server{Name: m.Name, Client: m.Client})
	}
	ids, err := allocator.NewMulti(servers, allocator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h, err := gateway.New(ids, gateway.Options{Masters: masters, RavenDB: &ravendb.Options{}})
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, h, ids)
	return h
}

func (p *pair) set(client *redis.Client, namespace, tag string, home bool) {
	p.t.Helper()
	fields := []any{"NodeTag", tag, "Identities", ""}
	if home {
		fields[3] = "here"
	}
	if err := client.HSet(p.t.Context(), "{"+namespace+"}/ServerPrefixForHilo", fields...).Err(); err != nil {
		p.t.Fatal(err)
	}
	if !home {
		client.HDel(p.t.Context(), "{"+namespace+"}/ServerPrefixForHilo", "Identities")
	}
}

func (p *pair) want(h http.Handler, method, target string, status int, part string) {
	p.t.Helper()
	if got := send(p.t, h, method, target); got.status != status || !strings.Contains(got.body, part) {
		p.t.Errorf("%s: got %d %s, want %d and %q", target, got.status, got.body, status, part)
	}
}

func TestRavenDBComparesAllMastersBeforeTheFirstRange(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		p := newPair(t, s)
		for _, namespace := range []string{"raven", "mall"} {
			p.set(p.north, namespace, "A", true)
			p.set(p.south, namespace, "A", false)
			next := "/databases/" + namespace + "/hilo/next?tag=orders"
			for range 2 {
				for _, h := range []http.Handler{p.first, p.other} {
					p.want(h, http.MethodGet, next, http.StatusInternalServerError, "ErrPrefixConflict: ")
				}
			}
			p.set(p.south, namespace, "B", false) // corrected
			eventually(t, p.first, http.MethodGet, next, http.StatusCreated, `"ServerTag":"A"`)
			eventually(t, p.other, http.MethodGet, next, http.StatusCreated, `"ServerTag":"B"`)
		}
	})
}

func TestRavenDBRefusesAMasterWhoseTagBecomesThatOfAnother(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		p := newPair(t, s)
		p.set(p.north, "raven", "A", false)
		p.set(p.south, "raven", "B", false)
		const next = "/databases/Raven/hilo/next?tag=orders"
		p.want(p.first, http.MethodGet, next, http.StatusCreated, `"ServerTag":"A"`)
		p.want(p.other, http.MethodGet, next, http.StatusCreated, `"ServerTag":"B"`)
		p.set(p.south, "raven", "A", false)
		for range 2 {
			p.want(p.other, http.MethodGet, next, http.StatusInternalServerError, "ErrPrefixConflict: ")
		}
		p.want(p.first, http.MethodGet, next, http.StatusCreated, `"ServerTag":"A"`)
	})
}

// A master without settings issues nothing, so that the others serve.
func TestRavenDBIsServedBesideAMasterWithoutSettings(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		p := newPair(t, s)
		p.set(p.north, "raven", "A", false)
		const next = "/databases/Raven/hilo/next?tag=orders"
		p.want(p.first, http.MethodGet, next, http.StatusCreated, `"ServerTag":"A"`)
		p.want(p.other, http.MethodGet, next, http.StatusInternalServerError, "ErrPrefixMissing: ")
	})
}

func TestRavenDBComparesHomes(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		p := newPair(t, s)
		p.set(p.north, "raven", "A", true)
		p.set(p.south, "raven", "B", true)
		requests := []string{"next?name=companies", "seed?name=companies&value=7"}
		const path = "/databases/Raven/identity/"
		for _, request := range requests {
			for _, h := range []http.Handler{p.first, p.other} {
				p.want(h, http.MethodPost, path+request, http.StatusInternalServerError, "ErrPrefixConflict: ")
			}
		}
		p.set(p.south, "raven", "B", false)
		p.want(p.first, http.MethodPost, path+requests[0], http.StatusOK, `{"NewIdentityValue":1}`)
		for _, request := range requests {
			p.want(p.other, http.MethodPost, path+request, http.StatusInternalServerError, "ErrIdentitiesElsewhere: ")
		}
		if got := p.south.Exists(t.Context(), "{raven}/Identities/companies").Val(); got != 0 {
			t.Errorf("got %d identities at the master that is not the home, want 0", got)
		}
	})
}

// A master that is down does not prevent the other from issuing ranges and identities.
func TestRavenDBIsServedWhileAnotherMasterIsDown(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		p := newPair(t, s)
		p.set(p.north, "raven", "A", true)
		down := redistest.StartMini(t)
		client := redistest.NewClient(t, down)
		down.Kill()
		h := gatewayOf(t, gateway.Master{Name: "north", Client: p.north}, gateway.Master{Name: "south", Client: client})
		p.want(h, http.MethodGet, "/databases/Raven/hilo/next?tag=users", http.StatusCreated, `"Low":1,`)
		p.want(h, http.MethodPost, "/databases/Raven/identity/next?name=companies", http.StatusOK, `{"NewIdentityValue":1}`)
	})
}

// eventually repeats a request while the server is in back-off.
func eventually(t *testing.T, h http.Handler, method, target string, status int, part string) {
	t.Helper()
	awaitStatus(t, status, func() answer { return send(t, h, method, target) })
	if got := send(t, h, method, target); !strings.Contains(got.body, part) {
		t.Errorf("%s: got %s, want %q", target, got.body, part)
	}
}
