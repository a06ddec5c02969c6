package ravendb

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// A takes a range and returns all of it, B is issued the same numbers, and a copy of A's return arrives late. It must not take them
// back from B. The server alone would do so: Max is at the end of its newest range.
func TestLateCopyOfAReturnTakesNothingBack(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		before int // ranges of others before that of A
		// through is the gateways that serve A, B, and the late copy with C, of a gateway, another one and one after a restart.
		through [3]int
		same    bool // the numbers of B are those of A
	}{
		"of the first range":          {0, [3]int{0, 0, 0}, false}, // the return itself is a gap, since no range came before
		"of a later range":            {1, [3]int{0, 0, 0}, true},
		"over a restart":              {1, [3]int{0, 2, 2}, true},
		"after B was served":          {1, [3]int{0, 0, 2}, true},
		"where B used another one":    {1, [3]int{0, 1, 0}, true},
		"where it comes to the other": {1, [3]int{0, 1, 1}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				w := newWire(t, s)
				if err := w.client.Del(t.Context(), "{Raven}/HiLo/users").Err(); err != nil {
					t.Fatal(err)
				}
				gateways := []*Handler{w.again(), w.again(), w.again()}
				a, b, late := gateways[tt.through[0]], gateways[tt.through[1]], gateways[tt.through[2]]
				for range tt.before {
					next(t, a, "tag=users")
				}
				first := next(t, a, "tag=users")
				back := fmt.Sprintf("/databases/Shop/hilo/return?tag=users&end=%d&last=%d", first.High, first.Low-1)
				send(t, a, http.MethodPut, back)
				second := next(t, b, "tag=users")
				if (second.Low == first.Low) != tt.same {
					t.Errorf("got %d..%d after a return of %d..%d, want the same numbers: %t", second.Low, second.High, first.Low, first.High, tt.same)
				}
				send(t, late, http.MethodPut, back)
				if third := next(t, late, "tag=users"); third.Low <= second.High {
					t.Errorf("got %d..%d beside %d..%d of another client, want no number twice", third.Low, third.High, second.Low, second.High)
				}
			})
		})
	}
}

// Clients use up what they hold, ask in vain while the server is down, and go on when it is back, through their gateway, another
// one and one that was restarted. The server comes back empty.
func TestNextRepeatsNoNumberOverAnOutage(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s, func(o *Options) { o.Client = impatient(t, s) })
		other := w.again(func(o *Options) { o.Client = impatient(t, s) })
		seen := make(map[int64]bool)
		take := func(r *raven, n int) {
			t.Helper()
			for range n {
				id := r.id()
				if seen[id] {
					t.Fatalf("got %d twice", id)
				}
				seen[id] = true
			}
		}
		clients := []*raven{{h: w.Handler, t: t}, {h: other, t: t}}
		for _, r := range clients {
			take(r, 100)
		}
		s.Kill()
		for _, r := range clients {
			take(r, int(r.high-r.now))
			if _, err := tryNext(t, r.h, "tag=users"); err == nil {
				t.Fatal("got a range while the server is down, want an error")
			}
		}
		s.Restart()
		w.set("{Raven}/ServerPrefixForHilo", "NodeTag", "A", "Identities", "here")
		clients = append(clients, &raven{h: w.again(func(o *Options) { o.Client = impatient(t, s) }), t: t})
		for _, r := range clients {
			for err := errors.New("none yet"); err != nil; { // the server is in back-off
				var got hiloRange
				if got, err = tryNext(t, r.h, "tag=users"); err == nil {
					r.now, r.high, r.size, r.at = got.Low-1, got.High, got.LastSize, got.LastRangeAt
				}
			}
			take(r, 200)
		}
	})
}
