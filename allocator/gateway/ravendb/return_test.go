package ravendb

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func (w *wire) giveBack(end, last int64) {
	w.t.Helper()
	w.answers("PUT", fmt.Sprintf("/databases/Shop/hilo/return?tag=users&end=%d&last=%d", end, last), 204, "")
}

func (w *wire) wantMax(want string) {
	w.t.Helper()
	if max := w.get("{Raven}/HiLo/users", "Max"); max != want {
		w.t.Errorf("Max is %s, want %s", max, want)
	}
}

func TestReturnsThatTakeNothingBack(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		begin := func(t *testing.T) {
			t.Helper()
			if err := w.client.Del(t.Context(), "{Raven}/HiLo/users").Err(); err != nil {
				t.Fatal(err)
			}
			w.Handler, w.t = w.again(), t
			if got := w.next("tag=users"); got.Low != 1 || got.High != 32 {
				t.Fatalf("%+v", got)
			}
		}
		for name, then := range map[string]func(){
			"one that was sent twice": func() {
				w.giveBack(32, 10)
				w.next("tag=users")
				w.giveBack(32, 10)
				w.wantMax("42")
			},
			"one that comes after somebody else was given a range": func() {
				w.next("tag=users")
				w.giveBack(32, 10)
				w.wantMax("64")
			},
			"two in another order": func() {
				w.next("tag=users")
				w.giveBack(32, 10)
				w.giveBack(64, 40)
				w.giveBack(32, 10)
				w.wantMax("40")
			},
			"one of a range that ends alike": func() {
				w.giveBack(32, 0)
				if got := w.next("tag=users"); got.Low != 1 || got.High != 33 || got.LastSize != 33 {
					t.Errorf("%+v", got)
				}
				w.giveBack(32, 0)
				w.wantMax("33")
				w.giveBack(33, 5)
				w.wantMax("5")
			},
			"one below the range": func() {
				w.next("tag=users")
				w.giveBack(64, 31)
				w.wantMax("64")
				w.giveBack(64, 0)
				w.wantMax("64")
			},
			"one of more than was given": func() {
				w.giveBack(32, 33)
				w.giveBack(32, math.MaxInt64)
				w.giveBack(31, 5)
				w.giveBack(0, 0)
				w.wantMax("32")
			},
			"one of a range that another gateway gave": func() {
				w.Handler = w.again()
				w.giveBack(32, 10)
				w.wantMax("32")
			},
			"one that came before a restart, and again after it": func() {
				w.giveBack(32, 0)
				w.Handler = w.again()
				if got := w.next("tag=users"); got.Low != 1 {
					t.Errorf("%+v", got)
				}
				w.giveBack(32, 0)
				w.wantMax("32")
			},
			"one that came before a restart, of a counter that is gone and seeded since, and again after it": func() {
				w.next("tag=users")
				if err := w.client.Del(t.Context(), "{Raven}/HiLo/users").Err(); err != nil {
					t.Fatal(err)
				}
				w.set("{Raven}/HiLo/users", "Max", 32)
				w.Handler = w.again()
				if got := w.next("tag=users"); got.Low != 33 || got.High != 64 {
					t.Errorf("%+v", got)
				}
				w.giveBack(64, 32)
				w.wantMax("64")
			},
			"one after a seed": func() {
				w.set("{Raven}/HiLo/users", "Max", 32)
				if err := w.client.HDel(t.Context(), "{Raven}/HiLo/users", "Lease").Err(); err != nil {
					t.Fatal(err)
				}
				w.giveBack(32, 10)
				w.wantMax("32")
			},
			"one where none are taken": func() {
				w.Handler = w.again(func(o *Options) { o.IgnoreReturns = true })
				w.next("tag=users")
				w.giveBack(64, 40)
				w.wantMax("64")
			},
		} {
			t.Run(name, func(t *testing.T) {
				begin(t)
				then()
			})
		}
	})
}

func TestAReturnWhoseReplyWasLostIsSentAgain(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		w.next("tag=users")
		s.Kill()
		response := w.send("PUT", "/databases/Shop/hilo/return?tag=users&end=32&last=2")
		if response.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%d", response.StatusCode)
		}
		s.Restart()
		w.set("{Raven}/ServerPrefixForHilo", "NodeTag", "A")
		w.giveBack(32, 2)
		if got := w.next("tag=users"); got.Low <= 2 {
			t.Errorf("%+v", got)
		}
	})
}

func TestARangeThatCannotEndElsewhereIsNotTakenBack(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s, func(o *Options) { o.Limit = 20 })
		w.next("tag=users")
		w.giveBack(20, 5)
		w.wantMax("5")
		if got := w.next("tag=users"); got.Low != 6 || got.High != 20 {
			t.Errorf("%+v", got)
		}
		w.giveBack(20, 5)
		w.wantMax("20")
	})
}

func TestOldRangesAreForgotten(t *testing.T) {
	t.Parallel()
	var g givenRanges
	c := new(counter)
	for i := range int64(mostGiven + 10) {
		g.add(c, i, given{})
	}
	if len(g.byEnd) != mostGiven || len(g.order) != mostGiven {
		t.Errorf("%d are remembered", len(g.byEnd))
	}
	if _, ok := g.find(c, 9); ok {
		t.Error("the tenth is remembered")
	}
	if _, ok := g.find(c, 10); !ok {
		t.Error("the eleventh is forgotten")
	}
	if more := g.beyond(c, 10); more != mostGiven {
		t.Errorf("%d", more)
	}
}

// lent is a range as its client knows it.
type lent struct {
	low, high, last int64
	returned        bool
}

// history is what a random sequence of events does to a counter.
type history struct {
	*wire
	server *redistest.Server
	owned  map[int64]bool // by some client, for good or until it returns it
	ranges []*lent
	saved  map[string]string // a state that the server may fall back to
}

func (h *history) took(t *rapid.T, low, high int64) {
	h.t.Helper()
	for n := low; n <= high; n++ {
		if h.owned[n] {
			t.Fatalf("%d was given twice, in %d..%d", n, low, high)
		}
		h.owned[n] = true
	}
}

func (h *history) release(low, high int64) {
	for n := low; n <= high; n++ {
		delete(h.owned, n)
	}
}

func TestNoHistoryGivesANumberTwice(t *testing.T) {
	t.Parallel()
	server := redistest.StartMini(t)
	w := newWire(t, server)
	const key = "{Raven}/HiLo/users"
	life := strings.Repeat("0", 40) // of the server
	server.SetReplicationID(life)
	rapid.Check(t, func(t *rapid.T) {
		if err := w.client.Del(w.t.Context(), key).Err(); err != nil {
			t.Fatal(err)
		}
		h := history{wire: w, server: server, owned: make(map[int64]bool)}
		h.Handler = h.again()
		t.Repeat(map[string]func(*rapid.T){
			"next": func(t *rapid.T) {
				got := h.next(fmt.Sprintf("tag=users&lastBatchSize=%d", rapid.SampledFrom([]int{0, 0, 33, 64, 128}).Draw(t, "size")))
				h.took(t, got.Low, got.High)
				h.ranges = append(h.ranges, &lent{low: got.Low, high: got.High})
			},
			"return": func(t *rapid.T) {
				if len(h.ranges) == 0 {
					return
				}
				// The newest are returned most, and often as a whole.
				r := h.ranges[len(h.ranges)-1-rapid.IntRange(0, min(3, len(h.ranges)-1)).Draw(t, "range")]
				if !r.returned {
					r.returned = true
					r.last = max(r.low-1, r.high-rapid.SampledFrom([]int64{0, 1, 5, 32, 96, 128}).Draw(t, "unused"))
					h.release(r.last+1, r.high)
				}
				h.giveBack(r.high, r.last)
			},
			"late return": func(*rapid.T) {
				for _, r := range h.ranges {
					if r.returned {
						h.giveBack(r.high, r.last)
					}
				}
			},
			"somebody else": func(t *rapid.T) {
				got, err := scripts.Next(h.t.Context(), h.client, scripts.Keys{Counter: key, Server: "{Raven}/ServerPrefixForHilo", Other: "{Raven}/Identities/users"},
					scripts.NextRequest{Token: fmt.Sprint("else", len(h.owned), rapid.Uint64().Draw(t, "token")), Name: "users", Capacity: rapid.Int64Range(1, 40).Draw(t, "capacity"), Limit: math.MaxInt64})
				if err != nil {
					t.Fatal(err)
				}
				h.took(t, got.Low, got.High)
			},
			"restart": func(*rapid.T) { h.Handler = h.again() },
			"save": func(*rapid.T) {
				// A loss past a jump, back to where it began, may give what came after it again.
				if state := h.client.HGetAll(h.t.Context(), key).Val(); state["Origin"] == life {
					h.saved = state
				}
			},
			"loss": func(t *rapid.T) {
				if len(h.saved) == 0 {
					return
				}
				h.client.Del(h.t.Context(), key)
				h.client.HSet(h.t.Context(), key, h.saved)
				life = fmt.Sprintf("%032x%08x", rapid.Uint64().Draw(t, "life"), len(h.owned))
				h.server.SetReplicationID(life)
				h.saved = nil
			},
		})
	})
}
