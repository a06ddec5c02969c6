package ravendb

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

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

// A forced seed that failed may have taken effect all the same. Sent again it reports that values were issued since, and does not
// lower them.
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
		for _, h := range []*Handler{w.Handler, w.again()} {
			if got := send(t, h, "POST", forced); got.StatusCode != http.StatusInternalServerError || !strings.Contains(body(t, got), "ErrChanged: ") {
				t.Errorf("got %s, want 500, ErrChanged", got.Status)
			}
		}
		next(502)
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
