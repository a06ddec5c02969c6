package ravendb

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/allocator/allocatortest"
	"github.com/hilo-id/hilo/prefix"
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

// Each case begins with the ranges 1..32 and 33..64, and ends with what Max is then.
func TestReturnIsTakenByTheRule(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		for name, tt := range map[string]struct {
			then func()
			want string
		}{
			"of the newest range": {func() { w.sendReturn(64, 34) }, "34"},
			"of a whole range":    {func() { w.sendReturn(64, 32) }, "32"},
			"sent twice": {func() {
				w.sendReturn(64, 34)
				w.next("tag=users") // 35..66
				w.sendReturn(64, 34)
			}, "66"},
			"of a range after one that was returned": {func() {
				w.sendReturn(64, 34)
				w.next("tag=users") // 35..66, and no range of this gateway ended at 34
				w.sendReturn(66, 40)
			}, "66"},
			"of the second range after one that was returned": {func() {
				w.sendReturn(64, 34)
				w.next("tag=users")
				w.next("tag=users") // 67..98
				w.sendReturn(98, 70)
			}, "70"},
			"of a range with the end of one that was returned": {func() {
				w.sendReturn(64, 32)
				w.next("tag=users") // 33..64
				w.sendReturn(64, 40)
			}, "64"},
			"of an older range": {func() { w.sendReturn(32, 10) }, "64"},
			"of two ranges, the older one first": {func() {
				w.sendReturn(32, 10)
				w.sendReturn(64, 40)
				w.sendReturn(32, 10)
			}, "40"},
			"below the range": {func() {
				w.sendReturn(64, 31)
				w.sendReturn(64, 0)
			}, "64"},
			"above the range": {func() {
				w.sendReturn(64, 64)
				w.sendReturn(64, 65)
				w.sendReturn(64, math.MaxInt64)
				w.sendReturn(63, 40)
				w.sendReturn(0, 0)
			}, "64"},
			"of a range of another gateway": {func() {
				w.Handler = w.again()
				w.sendReturn(64, 40)
			}, "64"},
			"of the first range after a restart": {func() {
				w.Handler = w.again()
				w.next("tag=users")
				w.sendReturn(96, 70)
			}, "96"},
			"of the second range after a restart": {func() {
				w.Handler = w.again()
				w.next("tag=users")
				w.next("tag=users")
				w.sendReturn(128, 100)
			}, "100"},
			"sent before a restart and again after it": {func() {
				w.sendReturn(64, 32)
				w.Handler = w.again()
				w.next("tag=users") // 33..64 again
				w.next("tag=users")
				w.sendReturn(64, 32)
			}, "96"},
			"that came to another gateway, and late to this one": {func() {
				other := w.again()
				next(t, other, "tag=users") // 65..96
				next(t, other, "tag=users") // 97..128
				send(t, other, "PUT", "/databases/Shop/hilo/return?tag=users&end=128&last=96")
				w.next("tag=users") // 97..128 again
				w.sendReturn(128, 96)
			}, "128"},
			"after a seed to the same number": {func() {
				m, err := admin.New(w.client, admin.Options{})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := m.Seed(t.Context(), "users", 64, false); err != nil {
					t.Fatal(err)
				}
				w.sendReturn(64, 40)
			}, "64"},
			"of a range after a seed to the end of the one before": {func() {
				m, err := admin.New(w.client, admin.Options{})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := m.Seed(t.Context(), "users", 64, false); err != nil {
					t.Fatal(err)
				}
				w.next("tag=users")
				w.sendReturn(96, 70)
			}, "96"},
			"in another spelling": {func() {
				w.answers("PUT", "/databases/Shop/hilo/return?tag=Users&end=64&last=34", 204, "")
			}, "34"},
			"of another collection": {func() {
				w.answers("PUT", "/databases/Shop/hilo/return?tag=orders&end=64&last=34", 204, "")
			}, "64"},
			"of users&y, as Node.js and Java write it": {func() {
				w.answers("PUT", "/databases/Shop/hilo/return?tag=users&y&end=64&last=34", 204, "")
			}, "64"},
			"of users&": {func() {
				w.answers("PUT", "/databases/Shop/hilo/return?tag=users&&end=64&last=34", 204, "")
			}, "64"},
			"of user%73, as Node.js and Java write it": {func() {
				w.answers("PUT", "/databases/Shop/hilo/return?tag=user%73&end=64&last=34", 204, "")
			}, "64"},
			"of users, and something more": {func() {
				w.answers("PUT", "/databases/Shop/hilo/return?tag=users&end=64&last=34&y", 204, "")
				w.answers("PUT", "/databases/Shop/hilo/return?y&tag=users&end=64&last=34", 204, "")
			}, "64"},
			"with IgnoreReturns": {func() {
				w.Handler = w.again(func(o *Options) { o.IgnoreReturns = true })
				w.next("tag=users")
				w.next("tag=users")
				w.sendReturn(128, 100)
			}, "128"},
		} {
			t.Run(name, func(t *testing.T) {
				if err := w.client.Del(t.Context(), "{Raven}/HiLo/users").Err(); err != nil {
					t.Fatal(err)
				}
				w.Handler, w.t = w.again(), t
				for range 2 {
					w.next("tag=users")
				}
				tt.then()
				w.wantMax(tt.want)
			})
		}
	})
}

func TestReturnDuringAnOutageIsAGap(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s, func(o *Options) { o.Client = impatient(t, s) })
		w.next("tag=users")
		w.next("tag=users")
		s.Kill()
		w.sendReturn(64, 34)
	})
}

func TestRangesDropTheOldest(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		w.ranges.max = 2
		for range 5 {
			w.next("tag=users")
		}
		d, _ := w.databases.Get("Raven")
		for end, want := range map[int64]bool{32: false, 64: false, 96: true, 128: true, 160: true, 161: false} {
			if _, got := w.ranges.find(collection{d, "users"}, end); got != want {
				t.Errorf("find(%d): got %t, want %t", end, got, want)
			}
		}
	})
}

// Clients of two gateways take ranges, use some numbers and return the rest. Each return may arrive again at any time, at either
// gateway, and a gateway may have been restarted meanwhile.
func TestReturnsThatArriveAgainRepeatNoNumber(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		w := newWire(t, redistest.StartMini(t))
		random := rand.New(rand.NewPCG(seed, 1))
		gateways := []*Handler{w.again(), w.again()}
		used := make(map[int64]bool)
		var late []string
		var held []hiloRange
		for range 400 {
			h := gateways[random.IntN(2)]
			switch what := random.IntN(20); {
			case what < 10:
				held = append(held, next(t, h, "tag=users&lastBatchSize=4"))
			case what < 17 && len(held) > 0:
				i := random.IntN(len(held))
				got := held[i]
				held = append(held[:i], held[i+1:]...)
				last := got.Low - 1 + random.Int64N(got.LastSize+1)
				for n := got.Low; n <= last; n++ {
					if used[n] {
						t.Fatalf("seed %d: got %d twice", seed, n)
					}
					used[n] = true
				}
				back := fmt.Sprintf("/databases/Shop/hilo/return?tag=users&end=%d&last=%d", got.High, last)
				send(t, h, http.MethodPut, back)
				late = append(late, back)
			case what < 19 && len(late) > 0:
				send(t, h, http.MethodPut, late[random.IntN(len(late))])
			default:
				gateways[random.IntN(2)] = w.again()
			}
		}
	}
}

// Names that are not plain may arrive as another name. Java sends "?" for a character outside Latin-1, and Latin-1 bytes for the others,
// which may be valid UTF-8. Node.js leaves a percent sign as it is.
func TestReturnIsTakenOfPlainNames(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		for name, tt := range map[string]struct{ next, back, want string }{
			"Orders_2.x-y~z": {"Orders_2.x-y~z", "Orders_2.x-y~z", "34"},
			"?s":             {"%3Fs", "?s", "64"},
			"xé":             {"x%C3%A9", "x\xc3\xa9", "64"},
			"xö":             {"x%C3%B6", "x%C3%B6", "64"},
			"a,b":            {"a%2Cb", "a,b", "64"},
		} {
			for range 2 {
				w.next("tag=" + tt.next)
			}
			w.answers("PUT", "/databases/Shop/hilo/return?tag="+tt.back+"&end=64&last=34", 204, "")
			if max := w.get("{Raven}/HiLo/"+prefix.Fold(name), "Max"); max != tt.want {
				t.Errorf("%s: got Max %s, want %s", name, max, tt.want)
			}
		}
	})
}

// A copy of a return arrives when the same numbers were issued again and are not remembered yet.
func TestReturnIsClaimedOnce(t *testing.T) {
	t.Parallel()
	ids, err := allocatortest.New(t, allocator.Options{}).Collection("users")
	if err != nil {
		t.Fatal(err)
	}
	c, r := collection{name: "users"}, newRanges()
	for range 2 {
		batch, err := ids.Take(t.Context(), 32)
		if err != nil {
			t.Fatal(err)
		}
		r.add(c, batch)
	}
	for i, want := range []bool{true, false} {
		if _, got := r.claim(c, 64, 32); got != want {
			t.Errorf("return %d: got %v, want %v", i+1, got, want)
		}
	}
}
