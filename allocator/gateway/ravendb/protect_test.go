package ravendb

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// The return of an older range is refused, and leaves the floor where the newer one put it.
func TestReturnOfAnOlderRangeKeepsTheFloor(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		w.next("tag=users")
		newest := w.next("tag=users")
		w.sendReturn(32, 2)
		w.set("{Raven}/HiLo/users", "Max", 2) // what a loss of both ranges leaves
		if got := w.next("tag=users"); got.Low <= newest.High {
			t.Errorf("got %+v, want Low above %d", got, newest.High)
		}
	})
}

// The server lost the first return, after which its numbers may have been issued to another client.
func TestReturnIsTakenOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		w.next("tag=users")
		w.next("tag=users")
		before := w.client.HGetAll(t.Context(), "{Raven}/HiLo/users").Val()
		w.sendReturn(64, 34)
		w.wantMax("34")
		w.client.Del(t.Context(), "{Raven}/HiLo/users")
		w.set("{Raven}/HiLo/users", before)
		w.sendReturn(64, 34)
		w.wantMax("64")
	})
}

func TestNextRefusesAServerWithAPrefixThatLostItsTag(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		w.set("{Raven}/ServerPrefixForHilo", "ServerPrefix", "North/")
		w.next("tag=users")
		w.client.HDel(t.Context(), "{Raven}/ServerPrefixForHilo", "NodeTag")
		got := w.send(http.MethodGet, "/databases/Shop/hilo/next?tag=users")
		if text := body(t, got); got.StatusCode != http.StatusInternalServerError || !strings.Contains(text, "no node tag") {
			t.Errorf("got %s, %s, want 500 and the reason", got.Status, text)
		}
	})
}

// The reply to a request is lost, and the next one is for another size. The range of the first must not be answered to it.
func TestNextOfAnotherSizeAfterALostReply(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		client := &lossy{UniversalClient: w.client}
		w.Handler = w.again(func(o *Options) { o.Client = client })
		seen := w.next("tag=users")
		client.lost = true
		if got := w.send(http.MethodGet, "/databases/Shop/hilo/next?tag=users&lastBatchSize=1024"); got.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("got %s, want 503", got.Status)
		}
		client.lost = false
		for range 3 {
			var got hiloRange
			for err := errors.New("none yet"); err != nil; { // the server is in back-off
				got, err = tryNext(t, w, "tag=users&lastBatchSize=64")
			}
			if got.LastSize != 64 || got.High-got.Low != 63 || got.Low <= seen.High {
				t.Errorf("got %+v, want 64 numbers above %d", got, seen.High)
			}
			seen = got
		}
	})
}

// A ceiling that cannot be raised, here because there is no append-only file, keeps no client waiting for ever.
func TestNextAndIdentityEndWhileACeilingCannotBeRaised(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s, func(o *Options) { o.Allocator.RefillTimeout = time.Second })
		w.set("{Raven}/ServerPrefixForHilo", "Durable", "everysec")
		for _, request := range []string{"GET hilo/next?tag=users", "POST identity/next?name=companies"} {
			method, target, _ := strings.Cut(request, " ")
			got := w.send(method, "/databases/Shop/"+target)
			if text := body(t, got); got.StatusCode != http.StatusServiceUnavailable || got.Header.Get("Retry-After") == "" || !strings.Contains(text, `"Message":"ErrNotDurable: `) {
				t.Errorf("%s: got %s, %s, want 503 with Retry-After, ErrNotDurable", request, got.Status, text)
			}
		}
	})
}
