package allocator

import (
	"errors"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestNextRefusesCorruptStateAndLeavesItUnchanged(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		for _, max := range []string{"abc", "01", "-5", "", "9223372036854775808", "1.5"} {
			a := mustNew(t, client, Options{})
			client.HSet(t.Context(), "{Raven}/HiLo/orders", "Max", max)
			_, err := a.Next(t.Context(), "orders")
			if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "{Raven}/HiLo/orders") || !strings.Contains(err.Error(), `"`+max+`"`) {
				t.Errorf(`%q: got %v, want ErrCorrupt, text with "{Raven}/HiLo/orders", text with %q`, max, err, `"`+max+`"`)
			}
			wantMax(t, client, max)
		}
		client.Set(t.Context(), "{Raven}/HiLo/users", "4000", 0)
		a := mustNew(t, client, Options{})
		if _, err := a.Next(t.Context(), "users"); !errors.Is(err, ErrCorrupt) {
			t.Errorf("a string: got %v, want ErrCorrupt", err)
		}
		client.HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "ServerPrefix", "North\u00a0")
		if _, err := a.Next(t.Context(), "people"); !errors.Is(err, ErrCorrupt) || !errors.Is(err, ErrInvalidName) {
			t.Errorf("a prefix with white space: got %v, want ErrCorrupt, ErrInvalidName", err)
		}
	})
}

func TestNextNumberContinuesACounterWrittenByHand(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		client.HSet(t.Context(), "{Raven}/HiLo/accounts", "Max", 4000)
		a := mustNew(t, client, Options{})
		for want := int64(4001); want <= 4032; want++ {
			if got := mustNumber(t, a, "accounts"); got != want {
				t.Fatalf("got %d, want %d", got, want)
			}
		}
	})
}

func TestNextRefusesTheNameOfAnIdentityWithoutAPrefix(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := redistest.NewClient(t, s)
		client.HSet(t.Context(), prefix.NewKeys("Raven").Identity("orders"), "Value", 7)
		a := mustNew(t, client, Options{})
		if _, err := a.Next(t.Context(), "orders"); !errors.Is(err, ErrMixed) {
			t.Errorf("without prefix: got %v, want ErrMixed", err)
		}
		client.HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "ServerPrefix", "N/")
		if got := mustNumber(t, a, "orders"); got != 1 {
			t.Errorf("with a prefix: got %d, want 1", got)
		}
	})
}
