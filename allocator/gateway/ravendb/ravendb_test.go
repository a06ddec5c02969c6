package ravendb

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// These are the cases of RavenDB's own tests.

func TestNextContinuesAboveMax(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		w.set("{Raven}/HiLo/users", "Max", 64)
		w.set("{Raven}/HiLo/products", "Max", 128)
		for tag, want := range map[string]string{"users": "users/65-A", "products": "products/129-A"} {
			got := w.next("tag=" + tag + "&lastBatchSize=0&lastRangeAt=&identityPartsSeparator=/&lastMax=0")
			if id := fmt.Sprintf("%s%d-%s", got.Prefix, got.Low, got.ServerTag); id != want {
				t.Errorf("got %s, want %s", id, want)
			}
		}
	})
}

func TestReturnedNumbersAreIssuedAgain(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		for _, want := range [][2]int64{{1, 32}, {33, 64}} {
			if got := w.next("tag=users"); got.Low != want[0] || got.High != want[1] {
				t.Fatalf("got %+v, want %d", got, want)
			}
		}
		w.answers(http.MethodPut, "/databases/shop/hilo/return?tag=users&end=64&last=34", http.StatusNoContent, "")
		w.wantMax("34")
		if got := w.next("tag=users"); got.Low != 35 || got.High != 66 {
			t.Errorf("got %+v, want 35..66", got)
		}
	})
}

func TestNextDoublesTheCapacity(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		// The handler records when it issued the range, whatever time the client sends.
		for tag, at := range map[string]string{"utc": "now", "local": "2001-01-01T00:00:00.0000000", "none": ""} {
			w.set("{Raven}/HiLo/"+tag, "Max", 64)
			first := w.next("tag=" + tag + "&lastBatchSize=0&lastRangeAt=&identityPartsSeparator=/&lastMax=0")
			if first.Low != 65 || first.High != 96 || first.LastSize != 32 {
				t.Errorf("got %+v, want 65..96, LastSize 32", first)
			}
			if at == "now" {
				at = first.LastRangeAt
			}
			got := w.next("tag=" + tag + "&lastBatchSize=32&lastRangeAt=" + at + "&identityPartsSeparator=%2F&lastMax=96")
			if got.Low != 97 || got.High != 160 || got.LastSize != 64 {
				t.Errorf("%s: got %+v, want 97..160, LastSize 64", tag, got)
			}
		}
	})
}

func TestNextJumpsAboveItsFloorIfMaxIsLowered(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		w.set("{Raven}/HiLo/users", "Max", 32)
		client := raven{h: w.Handler, t: t}
		seen := map[int64]bool{client.id(): true}
		w.set("{Raven}/HiLo/users", "Max", 12)
		for range 128 {
			seen[client.id()] = true
		}
		if len(seen) != 129 {
			t.Errorf("got %d different ids, want 129", len(seen))
		}
	})
}

func TestNextJumpsIfTheCounterIsDeleted(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		w.next("tag=users")
		if err := w.client.Del(t.Context(), "{Raven}/HiLo/users").Err(); err != nil {
			t.Fatal(err)
		}
		if got := w.next("tag=users"); got.Low <= 32+65536 {
			t.Errorf("got %+v, want Low above %d", got, 32+65536)
		}
		if jumps := w.Allocators()[0].Stats().Servers[0].Jumps; jumps[allocator.EvidenceMissing] != 1 {
			t.Errorf("got jumps %v, want one for a missing counter", jumps)
		}
	})
}

func TestNextIssuesDifferentIDsToConcurrentClients(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		for _, tag := range []string{"users", "products"} {
			seen := together(10, func() (ids []int64) {
				client := raven{h: w.Handler, t: t, tag: tag}
				for range 4 {
					ids = append(ids, client.id())
				}
				return ids
			})
			if len(seen) != 40 {
				t.Errorf("%s: got %d different ids, want 40", tag, len(seen))
			}
		}
	})
}

func TestNextIssues1To2000ToCallersOfOneClient(t *testing.T) {
	t.Parallel()
	for _, callers := range []int{1, 100} {
		t.Run(fmt.Sprint(callers), func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				w := newWire(t, s)
				client := raven{h: w.Handler, t: t}
				seen := together(callers, func() (ids []int64) {
					for range 2000 / callers {
						ids = append(ids, client.id())
					}
					return ids
				})
				for n := range int64(2000) {
					if seen[n+1] != 1 {
						t.Fatalf("got %d %d times, want once", n+1, seen[n+1])
					}
				}
			})
		})
	}
}

func TestIdentitiesMatchTheTestsOfRavenDB(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		next := func(want int64) {
			t.Helper()
			w.answers(http.MethodPost, "/databases/Shop/identity/next?name=companies%7C", 200, fmt.Sprintf(`{"NewIdentityValue":%d}`, want))
		}
		seed := func(query string, want int64) {
			t.Helper()
			w.answers(http.MethodPost, "/databases/Shop/identity/seed?name=companies%7C&value="+query, 200, fmt.Sprintf(`{"NewSeedValue":%d}`, want))
		}
		next(1)
		next(2)
		seed("1990", 1990)
		next(1991)
		seed("1975", 1991)
		seed("1975&force=true", 1975)
		next(1976)
		w.answers(http.MethodPost, "/databases/Shop/identity/next?name=Users|", 200, `{"NewIdentityValue":1}`)
		w.answers(http.MethodGet, "/databases/Shop/debug/identities", 200, `{"companies|":1976,"users|":1}`)
		w.answers(http.MethodGet, "/databases/Shop/debug/identities?start=1&pageSize=1", 200, `{"users|":1}`)
		w.answers(http.MethodGet, "/databases/Shop/debug/identities?start=7", 200, `{}`)
	})
}

// Scripts check the part of the rule that can be checked on bytes.
func TestNextRefusesAnInvalidPrefix(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		for _, prefix := range []string{"x1-A", "north\u00a0", "north\u0661", "Z\xfcrich/", "Nore\u0301/"} {
			for _, h := range []*Handler{w.Handler, w.again()} {
				w.set("{Raven}/ServerPrefixForHilo", "ServerPrefix", prefix)
				got := send(t, h, http.MethodGet, "/databases/Shop/hilo/next?tag=Users")
				if text := body(t, got); got.StatusCode != http.StatusInternalServerError || !strings.Contains(text, "ErrCorrupt: ") {
					t.Errorf("%q: got %s, %s, want 500, ErrCorrupt", prefix, got.Status, text)
				}
			}
		}
	})
}

// A server that restarts empty has no tag either, so it issues nothing, and in particular not from 1 on.
func TestHandlerRefusesAServerThatLostItsTag(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		w.answers(http.MethodPost, "/databases/Shop/identity/next?name=companies", 200, `{"NewIdentityValue":1}`)
		w.next("tag=Users")
		again := w.again()
		for _, h := range []*Handler{w.Handler, again} {
			_ = send(t, h, http.MethodGet, "/databases/Shop/hilo/next?tag=First") // it knows the database
			w.client.Del(t.Context(), "{Raven}/ServerPrefixForHilo", "{Raven}/HiLo/users", "{Raven}/Identities/companies")
			for _, wanted := range []struct{ method, target string }{
				{http.MethodGet, "/databases/Shop/hilo/next?tag=Users"},
				{http.MethodPost, "/databases/Shop/identity/next?name=companies"},
			} {
				got := send(t, h, wanted.method, wanted.target)
				text := body(t, got)
				if got.StatusCode != http.StatusInternalServerError || !strings.Contains(text, "(hilo settings set)") {
					t.Errorf("%s: got %s, %s, want 500 and what to do", wanted.target, got.Status, text)
				}
			}
			if left := w.client.Exists(t.Context(), "{Raven}/HiLo/users", "{Raven}/Identities/companies").Val(); left != 0 {
				t.Errorf("got %d counters written, want none", left)
			}
			w.set("{Raven}/ServerPrefixForHilo", "NodeTag", "A", "Identities", "here")
		}
	})
}

func TestNextPutsTheServerPrefixBeforeTheNumber(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		w.set("{Raven}/ServerPrefixForHilo", "ServerPrefix", "2,")
		w.set("{Raven}/HiLo/users", "Max", 32)
		if got := w.next("tag=Users"); got.Prefix != "Users/2," || got.Low != 33 {
			t.Errorf("got %+v, want Prefix Users/2, and Low 33", got)
		}
	})
}

// raven is a client like RavenDB's, for many callers.
type raven struct {
	h   http.Handler
	t   testing.TB
	tag string

	mu        sync.Mutex
	now, high int64
	size      int64
	at        string
}

func (r *raven) id() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now == r.high {
		if r.tag == "" {
			r.tag = "users"
		}
		got, err := tryNext(r.t, r.h, fmt.Sprintf("tag=%s&lastBatchSize=%d&lastRangeAt=%s&identityPartsSeparator=/&lastMax=%d", r.tag, r.size, r.at, r.high))
		if err != nil {
			r.t.Error(err)
			return 0
		}
		r.now, r.high, r.size, r.at = got.Low-1, got.High, got.LastSize, got.LastRangeAt
	}
	r.now++
	return r.now
}

// together runs do on some goroutines and counts how often each id was returned.
func together(callers int, do func() []int64) map[int64]int {
	seen := make(map[int64]int)
	var mu sync.Mutex
	var wait sync.WaitGroup
	for range callers {
		wait.Go(func() {
			ids := do()
			mu.Lock()
			defer mu.Unlock()
			for _, id := range ids {
				seen[id]++
			}
		})
	}
	wait.Wait()
	return seen
}
