package ravendb

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"testing"

	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// sendReturn returns a range of users. The answer is the same whether the return is accepted or not.
func (w *wire) sendReturn(end, last int64) {
	w.t.Helper()
	w.answers("PUT", fmt.Sprintf("/databases/Shop/hilo/return?tag=users&end=%d&last=%d", end, last), 204, "")
}

func (w *wire) wantMax(want string) {
	w.t.Helper()
	if max := w.get("{Raven}/HiLo/users", "Max"); max != want {
		w.t.Errorf("got Max %s, want %s", max, want)
	}
}

func TestReturnIgnoresWhatIsNoNewestRangeOfThisGateway(t *testing.T) {
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
				t.Fatalf("got %+v, want 1..32", got)
			}
		}
		for name, then := range map[string]func(){
			"sent twice": func() {
				w.sendReturn(32, 10)
				w.next("tag=users")
				w.sendReturn(32, 10)
				w.wantMax("42")
			},
			"after another range was issued": func() {
				w.next("tag=users")
				w.sendReturn(32, 10)
				w.wantMax("64")
			},
			"of two ranges in another order": func() {
				w.next("tag=users")
				w.sendReturn(32, 10)
				w.sendReturn(64, 40)
				w.sendReturn(32, 10)
				w.wantMax("40")
			},
			"of a range with the same end": func() {
				w.sendReturn(32, 0)
				if got := w.next("tag=users"); got.Low != 1 || got.High != 33 || got.LastSize != 33 {
					t.Errorf("got %+v, want 1..33, LastSize 33", got)
				}
				w.sendReturn(32, 0)
				w.wantMax("33")
				w.sendReturn(33, 5)
				w.wantMax("5")
			},
			"below the range": func() {
				w.next("tag=users")
				w.sendReturn(64, 31)
				w.wantMax("64")
				w.sendReturn(64, 0)
				w.wantMax("64")
			},
			"above the range": func() {
				w.sendReturn(32, 33)
				w.sendReturn(32, math.MaxInt64)
				w.sendReturn(31, 5)
				w.sendReturn(0, 0)
				w.wantMax("32")
			},
			"of a range of another gateway": func() {
				w.Handler = w.again()
				w.sendReturn(32, 10)
				w.wantMax("32")
			},
			"sent before a restart and again after it": func() {
				w.sendReturn(32, 0)
				w.Handler = w.again()
				if got := w.next("tag=users"); got.Low != 1 || got.High != 33 {
					t.Errorf("got %+v, want 1..33", got)
				}
				w.sendReturn(32, 0)
				w.wantMax("33")
				w.sendReturn(33, 7)
				w.wantMax("7")
			},
			"after a seed": func() {
				w.set("{Raven}/HiLo/users", "Max", 32)
				if err := w.client.HDel(t.Context(), "{Raven}/HiLo/users", "Lease").Err(); err != nil {
					t.Fatal(err)
				}
				w.sendReturn(32, 10)
				w.wantMax("32")
			},
			"with IgnoreReturns": func() {
				w.Handler = w.again(func(o *Options) { o.IgnoreReturns = true })
				w.next("tag=users")
				w.sendReturn(64, 40)
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

func TestReturnMayBeRepeatedAfterALostReply(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		w.next("tag=users")
		s.Kill()
		response := w.send("PUT", "/databases/Shop/hilo/return?tag=users&end=32&last=2")
		if response.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("got %d, want 503", response.StatusCode)
		}
		s.Restart()
		w.set("{Raven}/ServerPrefixForHilo", "NodeTag", "A")
		w.sendReturn(32, 2)
		if got := w.next("tag=users"); got.Low <= 2 {
			t.Errorf("got %+v, want Low above 2", got)
		}
	})
}

func TestReturnIgnoresARangeAtTheLimitThatEndsLikeAnother(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s, func(o *Options) { o.Allocator.Limit = 20 })
		w.next("tag=users")
		w.sendReturn(20, 5)
		w.wantMax("5")
		if got := w.next("tag=users"); got.Low != 6 || got.High != 20 {
			t.Errorf("got %+v, want 6..20", got)
		}
		w.sendReturn(20, 5)
		w.wantMax("20")
	})
}

func TestRangesDropTheOldestAndRaiseAmbiguous(t *testing.T) {
	t.Parallel()
	r := newRanges(3)
	c := new(counter)
	for i := range int64(5) {
		r.add(c, scripts.Range{Low: 10*i + 1, High: 10*i + 10, Top: 10 * i, Ranges: i + 1}, "token")
	}
	if len(r.byEnd) != 3 || len(r.order) != 3 {
		t.Errorf("got %d entries and %d in order, want 3", len(r.byEnd), len(r.order))
	}
	for end, want := range map[int64]bool{10: false, 20: false, 30: true, 50: true} {
		if _, got := r.find(c, end); got != want {
			t.Errorf("find(%d): got %t, want %t", end, got, want)
		}
	}
	for end, want := range map[int64]int64{15: 6, 20: 1, 21: 0, 50: 1, 51: 0, 1: 0} {
		if got := r.extend(c, end, 10); got != want {
			t.Errorf("extend(%d): got %d, want %d", end, got, want)
		}
	}
}

// The range of a quiet counter is returned and then dropped from memory by the ranges of busy counters. Its return arrives again
// when another client holds the same numbers.
func TestReturnIgnoresALateOneAfterManyOtherRanges(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		w.ranges.max = 4
		w.next("tag=users")
		w.sendReturn(32, 0)
		w.wantMax("0")
		for range 5 {
			w.next("tag=busy")
		}
		got := w.next("tag=users&lastBatchSize=32")
		w.sendReturn(32, 0)
		w.wantMax(strconv.FormatInt(got.High, 10))
		w.sendReturn(got.High, 3) // its own, of an end that none had before
		w.wantMax("3")
	})
}

func TestReturnIsAcceptedRightAfterARestart(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]func(*wire){
		"of a counter of this gateway": func(w *wire) { w.next("tag=users") },
		"of a counter that was partly returned": func(w *wire) {
			w.next("tag=users")
			w.sendReturn(32, 20)
		},
		"of a counter of others": func(w *wire) {
			keys := scripts.Keys{Counter: "{Raven}/HiLo/users", Server: "{Raven}/ServerPrefixForHilo", Other: "{Raven}/Identities/users"}
			for i := range 3 {
				if _, err := scripts.Next(w.t.Context(), w.client, keys, scripts.NextRequest{Token: fmt.Sprint(i), Name: "users", Capacity: 32, Limit: 1000}); err != nil {
					w.t.Fatal(err)
				}
			}
		},
		"of a counter that was seeded": func(w *wire) { w.set("{Raven}/HiLo/users", "Max", 4000) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				w := newWire(t, s)
				before(w)
				w.Handler = w.again()
				got := w.next("tag=users")
				w.sendReturn(got.High, got.Low+4)
				w.wantMax(strconv.FormatInt(got.Low+4, 10))
			})
		})
	}
}

// An earlier process of the gateway issues ranges beside its successor until it ends. Their returns may arrive at the
// successor.
func TestRangesAreFinalBelowWhatAnotherProcessIssued(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		second scripts.Range
		final  bool
	}{
		"alone":                       {scripts.Range{Low: 1, High: 40, Top: 100, Ranges: 2}, false},
		"another range was issued":    {scripts.Range{Low: 1, High: 40, Top: 100, Ranges: 3}, true},
		"Top was raised":              {scripts.Range{Low: 1, High: 140, Top: 150, Ranges: 2}, true},
		"both, and it ends above Top": {scripts.Range{Low: 1, High: 160, Top: 150, Ranges: 3}, false},
		"the end of the first":        {scripts.Range{Low: 1, High: 100, Top: 100, Ranges: 2}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRanges(maxRanges)
			c := new(counter)
			r.add(c, scripts.Range{Low: 1, High: 100, Ranges: 1}, "first")
			r.add(c, tt.second, "second")
			if got, ok := r.find(c, tt.second.High); !ok || got.final != tt.final {
				t.Errorf("got %+v, %t, want final %t", got, ok, tt.final)
			}
		})
	}
}
