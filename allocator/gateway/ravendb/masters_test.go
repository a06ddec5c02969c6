package ravendb

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator/internal/fleet"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// pair is two handlers with the same two masters in opposite order.
type pair struct {
	t            *testing.T
	north, south *redis.Client
	first, other *Handler
}

func newPair(t *testing.T, s *redistest.Server) *pair {
	t.Helper()
	p := &pair{t: t, north: redistest.NewClient(t, s), south: redistest.NewClient(t, redistest.StartMini(t))}
	names := map[*redis.Client]string{p.north: "north", p.south: "south"}
	handler := func(own, other *redis.Client) *Handler {
		h, err := New(Options{Client: own, Name: names[own], Others: []Master{{Name: names[other], Client: other}}})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	p.first, p.other = handler(p.north, p.south), handler(p.south, p.north)
	return p
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

func (p *pair) want(h *Handler, method, target string, status int, part string) {
	p.t.Helper()
	response := send(p.t, h, method, target)
	if text := body(p.t, response); response.StatusCode != status || !strings.Contains(text, part) {
		p.t.Errorf("%s: got %d %s, want %d and %q", target, response.StatusCode, text, status, part)
	}
}

// age makes the next periodic check of a namespace due.
func (*pair) age(h *Handler, namespace string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.namespaces[namespace].fleet
	f.Start = f.Start.Add(-fleet.MonitorInterval)
}

func TestNextComparesAllMastersBeforeTheFirstRange(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		p := newPair(t, s)
		for _, namespace := range []string{"raven", "mall"} {
			p.set(p.north, namespace, "A", true)
			p.set(p.south, namespace, "A", false)
			next := "/databases/" + namespace + "/hilo/next?tag=orders"
			for range 2 {
				for _, h := range []*Handler{p.first, p.other} {
					p.want(h, http.MethodGet, next, http.StatusInternalServerError, "ErrPrefixConflict: ")
				}
			}
			p.set(p.south, namespace, "B", false) // corrected
			eventually(t, p.first, http.MethodGet, next, http.StatusCreated, `"ServerTag":"A"`)
			eventually(t, p.other, http.MethodGet, next, http.StatusCreated, `"ServerTag":"B"`)
		}
	})
}

func TestNextRefusesAMasterWhoseTagBecomesThatOfAnother(t *testing.T) {
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

func TestNextRefusesAMasterWithoutATagBesideOthers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		p := newPair(t, s)
		p.set(p.north, "raven", "A", false)
		p.want(p.first, http.MethodGet, "/databases/Raven/hilo/next?tag=orders", http.StatusInternalServerError, "ErrPrefixMissing: ")
	})
}

func TestIdentityNextComparesHomes(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		p := newPair(t, s)
		p.set(p.north, "raven", "A", true)
		p.set(p.south, "raven", "B", true)
		requests := []string{"next?name=companies", "seed?name=companies&value=7"}
		const path = "/databases/Raven/identity/"
		for _, request := range requests {
			for _, h := range []*Handler{p.first, p.other} {
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

// A second home is found by the check that is due after 10 s, which a request runs.
func TestIdentityNextFindsALaterSecondHome(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		p := newPair(t, s)
		p.set(p.north, "raven", "A", true)
		p.set(p.south, "raven", "B", false)
		const next = "/databases/Raven/identity/next?name=companies"
		p.want(p.first, http.MethodPost, next, http.StatusOK, `{"NewIdentityValue":1}`)
		p.set(p.south, "raven", "B", true)
		p.age(p.first, "raven")
		p.want(p.first, http.MethodPost, next, http.StatusInternalServerError, "ErrPrefixConflict: ")
		p.want(p.other, http.MethodPost, next, http.StatusInternalServerError, "ErrPrefixConflict: ")
	})
}

// A master that is down does not prevent the other from issuing ranges and identities.
func TestNextServesWhileAnotherMasterIsDown(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		down := redistest.StartMini(t)
		client := redistest.NewClient(t, down)
		down.Kill()
		w := newWire(t, s)
		w.Handler = w.again(func(o *Options) {
			o.Name, o.Others, o.Allocator.RefillTimeout = "north", []Master{{Name: "south", Client: client}}, 300*time.Millisecond
		})
		w.next("tag=users")
		w.answers(http.MethodPost, "/databases/Shop/identity/next?name=companies", 200, `{"NewIdentityValue":1}`)
	})
}

func TestWithDefaultsRefusesMastersWithoutNames(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{})
	t.Cleanup(func() { _ = client.Close() })
	for _, o := range []Options{
		{Client: client, Others: []Master{{Name: "south", Client: client}}},
		{Client: client, Name: "north", Others: []Master{{Client: client}}},
		{Client: client, Name: "north", Others: []Master{{Name: "north", Client: client}}},
		{Client: client, Name: "north", Others: []Master{{Name: "south"}}},
		{Client: client, Name: "north", Others: []Master{{Name: "south", Client: client, Namespaces: map[string]string{"raven": "{b}"}}}},
		{},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("New(%+v): got nil, want an error", o)
		}
	}
}

// eventually repeats a request while the server is in back-off.
func eventually(t *testing.T, h http.Handler, method, target string, status int, part string) {
	t.Helper()
	var last string
	for range 50 {
		response := send(t, h, method, target)
		text := body(t, response)
		if response.StatusCode == status && strings.Contains(text, part) {
			return
		}
		last = fmt.Sprint(response.StatusCode, " ", text)
	}
	t.Errorf("%s: got %s, want %d and %q", target, last, status, part)
}
