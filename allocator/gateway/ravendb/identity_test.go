package ravendb

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestIdentityNextIsRefusedAwayFromHome(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		if err := w.client.HDel(t.Context(), "{Raven}/ServerPrefixForHilo", "Identities").Err(); err != nil {
			t.Fatal(err)
		}
		response := w.send("POST", "/databases/Shop/identity/next?name=companies|")
		if text := body(t, response); response.StatusCode != http.StatusInternalServerError || !strings.Contains(text, "ErrIdentitiesElsewhere: ") {
			t.Errorf("got %d %s, want 500, ErrIdentitiesElsewhere", response.StatusCode, text)
		}
	})
}

func TestIdentityRequestsWithAnIDActOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		next := "/databases/Shop/identity/next?name=companies%7C&raft-request-id="
		w.answers("POST", next+"one", 200, `{"NewIdentityValue":1}`)
		w.answers("POST", next+"one", 200, `{"NewIdentityValue":1}`)
		w.answers("POST", next+"two", 200, `{"NewIdentityValue":2}`)
		w.answers("POST", strings.Replace(next, "companies", "users", 1)+"one", 200, `{"NewIdentityValue":1}`)
		seed := "/databases/Shop/identity/seed?name=companies%7C&value=1&force=true&raft-request-id=three"
		w.answers("POST", seed, 200, `{"NewSeedValue":1}`)
		w.answers("POST", next+"four", 200, `{"NewIdentityValue":2}`)
		w.answers("POST", seed, 200, `{"NewSeedValue":1}`)
		w.answers("POST", next+"five", 200, `{"NewIdentityValue":3}`)
		w.answers("POST", next+strings.Repeat("x", 129), 400, body(t, w.send("POST", next+strings.Repeat("x", 129))))
	})
}

// lossy loses the replies to scripts while lost is set.
type lossy struct {
	redis.UniversalClient
	lost bool
}

func (l *lossy) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	cmd := l.UniversalClient.EvalSha(ctx, sha, keys, args...)
	if l.lost && cmd.Err() == nil {
		cmd.SetErr(io.ErrUnexpectedEOF)
	}
	return cmd
}

// A forced seed that failed may have taken effect all the same. When it is sent again, it expects the state that it found the
// first time, and not values that were issued since.
func TestIdentitySeedActsOnceAfterALostReply(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		client := &lossy{UniversalClient: w.client}
		w.Handler = w.again(func(o *Options) { o.Client = client })
		next := func(want int64) {
			t.Helper()
			w.answers("POST", "/databases/Shop/identity/next?name=companies", 200, fmt.Sprintf(`{"NewIdentityValue":%d}`, want))
		}
		const seed = "/databases/Shop/identity/seed?name=companies&value="
		w.answers("POST", seed+"5000", 200, `{"NewSeedValue":5000}`)
		next(5001)
		loses := func(request string) {
			t.Helper()
			client.lost = true
			if got := w.send("POST", request); got.StatusCode != http.StatusServiceUnavailable {
				t.Errorf("got %s, want 503", got.Status)
			}
			client.lost = false
		}
		forced := seed + "1000&force=true&raft-request-id=one" // no value is issued in between
		loses(forced)
		w.answers("POST", forced, 200, `{"NewSeedValue":1000}`)
		next(1001)
		w.answers("POST", forced, 200, `{"NewSeedValue":1000}`)

		forced = seed + "500&force=true&raft-request-id=two"
		loses(forced)
		next(501)
		for range 2 {
			if got := w.send("POST", forced); got.StatusCode != http.StatusInternalServerError || !strings.Contains(body(t, got), "was expected") {
				t.Errorf("got %s, want 500 and the value that was expected", got.Status)
			}
		}
		next(502)
	})
}

// A forced seed is remembered whatever other requests and forced seeds follow it. Otherwise its repetition would lower the
// identity again.
func TestIdentitySeedActsOnceAfterManyOtherRequests(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		w.identitiesIssued.max, w.forcedSeeds.max = 3, 2
		const next = "/databases/Shop/identity/next?name=companies&raft-request-id="
		const seed = "/databases/Shop/identity/seed?name=companies&value="
		w.answers("POST", seed+"1000&force=true&raft-request-id=one", 200, `{"NewSeedValue":1000}`)
		for i := range 10 {
			w.answers("POST", next+fmt.Sprint(i), 200, fmt.Sprintf(`{"NewIdentityValue":%d}`, 1001+i))
			w.answers("POST", seed+"7&raft-request-id=unforced"+fmt.Sprint(i), 200, fmt.Sprintf(`{"NewSeedValue":%d}`, 1001+i))
		}
		w.answers("POST", seed+"1000&force=true&raft-request-id=one", 200, `{"NewSeedValue":1000}`)
		w.answers("POST", next+"ten", 200, `{"NewIdentityValue":1011}`)

		w.answers("POST", seed+"2000&force=true&raft-request-id=two", 200, `{"NewSeedValue":2000}`)
		got := w.send("POST", seed+"5&force=true&raft-request-id=three")
		if text := body(t, got); got.StatusCode != http.StatusServiceUnavailable || got.Header.Get("Retry-After") == "" || !strings.Contains(text, "too many forced seeds") {
			t.Errorf("a seed that cannot be remembered: got %s %s, want 503", got.Status, text)
		}
		w.answers("POST", seed+"1000&force=true&raft-request-id=one", 200, `{"NewSeedValue":1000}`)
		w.answers("POST", next+"eleven", 200, `{"NewIdentityValue":2001}`)
	})
}

// The reply to a forced seed is lost with its gateway. The client sends it again, to the gateway after the restart or to another
// one. It must not lower values that were issued since.
func TestIdentitySeedActsOnceAtSeveralGateways(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		for name, before := range map[string]string{"existing": "5000", "missing": ""} {
			w := newWire(t, s)
			if before != "" {
				w.set("{Raven}/Identities/"+name, "Value", before)
			}
			seed := "/databases/Shop/identity/seed?name=" + name + "&value=1000&force=true&raft-request-id="
			next := func(h *Handler, want int64) {
				t.Helper()
				if got := body(t, send(t, h, http.MethodPost, "/databases/Shop/identity/next?name="+name)); got != fmt.Sprintf(`{"NewIdentityValue":%d}`, want) {
					t.Errorf("%s: got %s, want %d", name, got, want)
				}
			}
			other := w.again()
			next(other, 1+map[string]int64{"existing": 5000}[name])
			if before == "" {
				w.client.Del(t.Context(), "{Raven}/Identities/"+name)
				other = w.again()
			}
			w.answers(http.MethodPost, seed+"one", 200, `{"NewSeedValue":1000}`)
			if got := send(t, other, http.MethodPost, seed+"one"); got.StatusCode != http.StatusOK {
				t.Errorf("%s: repeated at another gateway at once: got %s, want 200", name, got.Status)
			}
			next(w.Handler, 1001)
			next(other, 1002)
			for _, h := range []*Handler{w.again(), w.again(), w.Handler} {
				_ = send(t, h, http.MethodPost, seed+"one") // 200 or 500, as it is remembered
			}
			next(other, 1003)
			if got := send(t, other, http.MethodPost, seed+"two"); got.StatusCode != http.StatusOK {
				t.Errorf("%s: another seed: got %s, want 200", name, got.Status)
			}
			next(w.Handler, 1001)
		}
	})
}

func TestIdentityRequestsWithOneIDShareTheAnswer(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		seen := together(20, func() []int64 {
			w.answers("POST", "/databases/Shop/identity/next?name=companies%7C&raft-request-id=one", 200, `{"NewIdentityValue":1}`)
			return nil
		})
		if value := w.get("{Raven}/Identities/companies", "Value"); value != "1" || len(seen) != 0 {
			t.Errorf("got Value %s, %d ids, want 1, 0", value, len(seen))
		}
	})
}

func TestIdentitySeedActsOnceAlsoAfterAMove(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		const key, seed = "{Raven}/Identities/people", "/databases/Shop/identity/seed?name=people&value=1000&force=true&raft-request-id=one"
		w.set(key, "Value", "5000")
		w.answers(http.MethodPost, seed, 200, `{"NewSeedValue":1000}`)
		w.answers(http.MethodPost, "/databases/Shop/identity/next?name=people", 200, `{"NewIdentityValue":1001}`)

		m, err := admin.New(w.client, admin.Options{})
		if err != nil {
			t.Fatal(err)
		}
		all, err := m.Export(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		w.client.Del(t.Context(), key)
		for _, got := range m.Import(t.Context(), all.States) {
			if got.Err != nil {
				t.Fatal(got.Err)
			}
		}
		moved := w.again()
		_ = send(t, moved, http.MethodPost, seed) // 500: it cannot take effect again
		if got, want := body(t, send(t, moved, http.MethodPost, "/databases/Shop/identity/next?name=people")), `{"NewIdentityValue":1002}`; got != want {
			t.Errorf("after the seed was repeated: got %s, want %s", got, want)
		}
	})
}
