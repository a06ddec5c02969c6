package ravendb

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
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
func TestReturnIsAcceptedOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		w.next("tag=users")
		before := w.client.HGetAll(t.Context(), "{Raven}/HiLo/users").Val()
		w.sendReturn(32, 2)
		w.wantMax("2")
		w.client.Del(t.Context(), "{Raven}/HiLo/users")
		w.set("{Raven}/HiLo/users", before)
		w.sendReturn(32, 2)
		w.wantMax("32")
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

func TestNextIssuesAnotherRangeAfterOneThatIsNotConfirmed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		w.Handler = w.again(func(o *Options) { o.Allocator.Durability = allocator.Durability{Replicas: 1, Timeout: time.Millisecond} })
		for _, want := range []string{"1", "2", "3"} {
			got := w.send(http.MethodGet, "/databases/Shop/hilo/next?tag=users")
			if text := body(t, got); got.StatusCode != http.StatusServiceUnavailable || !strings.Contains(text, "ErrNotDurable") {
				t.Errorf("got %s, %s, want 503, ErrNotDurable", got.Status, text)
			}
			if ranges := w.get("{Raven}/HiLo/users", "Ranges"); ranges != want {
				t.Errorf("got %s ranges, want %s", ranges, want)
			}
		}
	})
}

// A client requests another size than in the request whose reply was lost. The range of that request would be too long.
func TestNextOfAnotherSizeAfterALostReply(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		client := &lossy{UniversalClient: w.client}
		w.Handler = w.again(func(o *Options) { o.Client, o.IgnoreReturns = client, true })
		w.next("tag=users") // the server's prefix is known
		client.lost = true
		if got := w.send(http.MethodGet, "/databases/Shop/hilo/next?tag=users&lastBatchSize=1024"); got.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("got %s, want 503", got.Status)
		}
		client.lost = false
		if got := w.next("tag=users&lastBatchSize=64"); got.High-got.Low != 63 {
			t.Errorf("got %+v, want 64 numbers", got)
		}
	})
}

// A forced seed that took effect without a reply is not repeated after a newer one, whose record replaced its own.
func TestIdentitySeedKeepsItsStateBesideANewerOne(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		client := &lossy{UniversalClient: w.client}
		w.Handler = w.again(func(o *Options) { o.Client = client })
		const seed = "/databases/Shop/identity/seed?name=companies&force=true&value="
		w.answers("POST", seed+"100&raft-request-id=one", 200, `{"NewSeedValue":100}`)
		client.lost = true
		if got := w.send("POST", seed+"2&raft-request-id=two"); got.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("got %s, want 503", got.Status)
		}
		client.lost = false
		w.answers("POST", seed+"5&raft-request-id=three", 200, `{"NewSeedValue":5}`)
		w.answers("POST", "/databases/Shop/identity/next?name=companies", 200, `{"NewIdentityValue":6}`)
		if got := w.send("POST", seed+"2&raft-request-id=two"); got.StatusCode < http.StatusBadRequest {
			t.Errorf("got %s, want a refusal", got.Status)
		}
		w.answers("POST", "/databases/Shop/identity/next?name=companies", 200, `{"NewIdentityValue":7}`)
	})
}

// guardedScripts calls a function before each script.
type guardedScripts struct {
	redis.UniversalClient
	before func()
}

func (g *guardedScripts) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	g.before()
	return g.UniversalClient.EvalSha(ctx, sha, keys, args...)
}

// A forced seed fails if a value is issued between its two steps.
func TestIdentityNextAndSeedExcludeEachOther(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		client := &guardedScripts{UniversalClient: w.client, before: func() {}}
		w.Handler = w.again(func(o *Options) { o.Client = client })
		const next, seed = "/databases/Shop/identity/next?name=companies", "/databases/Shop/identity/seed?name=companies&value=1&force=true"
		w.answers("POST", next, 200, `{"NewIdentityValue":1}`)
		w.mu.Lock()
		c := w.counters["{Raven}/Identities/companies"]
		w.mu.Unlock()
		checked := 0
		client.before = func() {
			checked++
			if c.seeding.TryLock() {
				c.seeding.Unlock()
				t.Error("a seed may act during a request for a value")
			}
		}
		w.answers("POST", next, 200, `{"NewIdentityValue":2}`)
		client.before = func() {
			checked++
			if c.seeding.TryRLock() {
				c.seeding.RUnlock()
				t.Error("a value may be issued during a seed")
			}
		}
		w.answers("POST", seed, 200, `{"NewSeedValue":1}`)
		if checked < 2 {
			t.Errorf("got %d scripts, want 2", checked)
		}
	})
}
