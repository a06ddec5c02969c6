package gateway

import (
	"errors"
	"testing"
	"time"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// A second home is found by the comparison that is due after 10 s.
func TestVerifyHomeFindsALaterSecondHome(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		north, south := redistest.NewClient(t, s), redistest.NewClient(t, redistest.StartMini(t))
		const key = "{Raven}/ServerPrefixForHilo"
		north.HSet(t.Context(), key, "NodeTag", "A", "Identities", "here")
		south.HSet(t.Context(), key, "NodeTag", "B")
		m := newMasters(allocator.Options{}, Master{Name: "north", Client: north}, Master{Name: "south", Client: south})
		t.Cleanup(func() { _ = m.Close(t.Context()) })
		verify := func(want error) {
			t.Helper()
			if err := m.VerifyHome(t.Context(), "Raven"); !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
		}
		verify(nil)
		south.HSet(t.Context(), key, "Identities", "here")
		verify(nil) // as it was compared less than 10 s ago
		m.byNamespace["Raven"].at = time.Now().Add(-homeInterval)
		verify(allocator.ErrPrefixConflict)
		south.HDel(t.Context(), key, "Identities")
		verify(nil) // an error is not kept
	})
}
