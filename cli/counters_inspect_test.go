package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestInspectShowsOneCounter(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.Must(t, "seed", "Orders", "--max", "1073741822", "--redis", s.URL())
		clitest.Must(t, "next", "orders", "--redis", s.URL())

		text := clitest.Must(t, "inspect", "ORDERS", "--redis", s.URL())
		for _, want := range []string{
			"collection:  Orders\n", "max:         1073741823\n", "ranges:      1 issued\n", "jumps:       0\n", "born:        20", "ceiling:     ",
			"key:         HGETALL '{Raven}/HiLo/orders'\n", "to 2^31-1:   1073741824 left, 50.00% used\n",
			"to 2^53-1:   9007198180999168 left, less than 0.01% used\n",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not in\n%s", want, text)
			}
		}
		got := clitest.Decode[inspected](t, clitest.Must(t, "inspect", "orders", "--output", "json", "--redis", s.URL()))
		if len(got.Origin) != 40 || got.Key != "{Raven}/HiLo/orders" || got.Max != 1073741823 || len(got.Headroom) != 3 {
			t.Errorf("%+v", got)
		}
	})
}

func TestInspectOfOtherKinds(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.MustFail(t, exit.Refused, clitest.Hilo(t, "inspect", "Companies|", "--redis", s.URL()), `no identity "Companies"`, "hilo identity next")
		clitest.MustFail(t, exit.Refused, clitest.Hilo(t, "inspect", "companies/", "--redis", s.URL()), "no counter of server-side identifiers", "hilo id companies/")
		clitest.Must(t, "identity", "next", "companies", "--redis", s.URL())
		clitest.Must(t, "id", "invoices/", "--redis", s.URL())
		for name, want := range map[string]inspected{
			"Companies|": {Collection: "companies", Kind: "identity", Max: 1, Key: "{Raven}/Identities/companies"},
			"invoices/":  {Collection: "invoices", Kind: "server-side", Max: 1, Key: "{Raven}/ServerSide"},
		} {
			got := clitest.Decode[inspected](t, clitest.Must(t, "inspect", name, "--output", "json", "--redis", s.URL()))
			if got.Collection != want.Collection || got.Kind != want.Kind || got.Max != 1 || got.Key != want.Key {
				t.Errorf("%s: %+v", name, got)
			}
			if _, err := time.Parse(time.RFC3339, got.Born); err != nil || got.Jumps != 0 || got.Ceiling < 1 {
				t.Errorf("%s: got born %q, %d jumps, ceiling %d", name, got.Born, got.Jumps, got.Ceiling)
			}
			if text := clitest.Must(t, "inspect", name, "--redis", s.URL()); !strings.Contains(text, "value:") || !strings.Contains(text, "HGETALL '"+want.Key+"'") {
				t.Errorf("%s", text)
			}
		}
		clitest.MustFail(t, exit.Usage, clitest.Hilo(t, "inspect", "|", "--redis", s.URL()), "collection is empty")
	})
}

func TestInspectOfNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.MustFail(t, exit.Refused, clitest.Hilo(t, "inspect", "orders", "--redis", s.URL()), `no counter for "orders" in the namespace Raven`, "hilo seed")
		clitest.Must(t, "identity", "seed", "Companies", "--value", "7", "--redis", s.URL())
		clitest.MustFail(t, exit.Refused, clitest.Hilo(t, "inspect", "companies", "--redis", s.URL()), `no counter for "companies"`, "but an identity, whose value is 7; hilo identity next")
		clitest.MustFail(t, exit.Refused, clitest.Hilo(t, "inspect", "orders", "--redis", s.URL()), "hilo next makes one")
	})
}
