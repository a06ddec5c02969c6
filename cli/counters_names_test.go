package cli

import (
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/scripts/redistest"
)

const (
	zeroWidth  = "orders\u200b"
	decomposed = "cafe\u0301"
)

func TestEachCommandRefusesNamesThatLookLikeOthers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		before := clitest.Everything(t, s.Client(t))
		const hidden, form = "holds U+200B, a format character", "it holds U+0065 U+0301 where NFC has U+00E9"
		for _, test := range []struct {
			args []string
			want string
		}{
			{[]string{"next", zeroWidth}, hidden},
			{[]string{"next", decomposed}, form},
			{[]string{"id", zeroWidth + "/"}, hidden},
			{[]string{"id", decomposed + "|"}, form},
			{[]string{"identity", "next", zeroWidth}, hidden},
			{[]string{"identity", "seed", decomposed, "--value", "1"}, form},
			{[]string{"seed", zeroWidth, "--max", "1"}, hidden},
			{[]string{"seed", "--file", "testdata/zero-width.csv"}, `line 2: collection "orders\u200b" ` + hidden + "; correct the name in this line"},
			{[]string{"seed", "--file", "testdata/zero-width.csv", "--dry-run"}, "nothing was written"},
			{[]string{"inspect", zeroWidth}, hidden + "; name a counter that has such a name by its key, {Raven}/HiLo/"},
			{[]string{"list", "--namespace", "Raven\u200b"}, "namespace \"Raven\\u200b\" " + hidden},
			{[]string{"list", "--namespace", decomposed}, form},
			{[]string{"list", "--separator", "\u200b"}, "separator U+200B is a format character"},
			{[]string{"list", "--separator", "\u037e"}, "it holds U+037E where NFC has U+003B"},
			{[]string{"settings", "set", "North\u200b/"}, hidden},
			{[]string{"settings", "set", decomposed + "/"}, form},
			{[]string{"serve", zeroWidth}, hidden},
			{[]string{"serve", "--database", zeroWidth + "=Raven"}, hidden},
			{[]string{"serve", "--database", "Shop=" + decomposed}, form},
			{[]string{"bench", zeroWidth}, hidden},
		} {
			clitest.MustFail(t, exit.Usage, clitest.Hilo(t, append(test.args, "--redis", s.URL())...), test.want)
		}
		clitest.WantUnchanged(t, s.Client(t), before)
	})
}

func TestSeedByAScanLeavesOutNamesThatLookLikeOthers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		client.Set(t.Context(), "orders/17", "", 0)
		client.Set(t.Context(), zeroWidth+"/4000", "", 0)
		args := []string{"seed", "--scan", "orders*", "--redis", s.URL()}
		if got := clitest.Must(t, append(args, "--dry-run")...); !strings.Contains(got, `left out: 1, "orders\u200b/4000" among them`) {
			t.Errorf("got %s, want one key left out", got)
		}
		clitest.Must(t, append(args, "--yes")...)
		if keys := client.Keys(t.Context(), "{Raven}/HiLo/*").Val(); len(keys) != 1 || keys[0] != "{Raven}/HiLo/orders" {
			t.Errorf("got the counters %q, want that of orders", keys)
		}
	})
}

// Version 0.1 made such counters.
func TestCountersUnderRefusedNamesStayReadable(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		client.HSet(t.Context(), "{Raven}/HiLo/"+zeroWidth, "Max", "4000", "Name", "Orders\u200b")
		client.HSet(t.Context(), "{Raven}/HiLo/"+decomposed, "Max", "7")
		client.HSet(t.Context(), "{Raven}/Identities/"+zeroWidth, "Value", "5")

		if got := clitest.Must(t, "list", "--redis", s.URL()); !strings.Contains(got, `Orders\u200b  4000 `) || !strings.Contains(got, decomposed) {
			t.Errorf("list: %s", got)
		}
		if got := clitest.Must(t, "identity", "list", "--redis", s.URL()); !strings.Contains(got, `orders\u200b      5 `) {
			t.Errorf("identity list: %s", got)
		}
		if got := clitest.Decode[[]listed](t, clitest.Must(t, "list", "--output", "json", "--redis", s.URL())); len(got) != 2 || got[1].Collection != "Orders\u200b" {
			t.Errorf("list --output json: %+v", got)
		}

		for key, want := range map[string]inspected{
			"{Raven}/HiLo/" + zeroWidth:       {Collection: "Orders\u200b", Kind: "hilo", Max: 4000},
			"{Raven}/HiLo/" + decomposed:      {Collection: decomposed, Kind: "hilo", Max: 7},
			"{Raven}/Identities/" + zeroWidth: {Collection: zeroWidth, Kind: "identity", Max: 5},
		} {
			got := clitest.Decode[inspected](t, clitest.Must(t, "inspect", key, "--output", "json", "--redis", s.URL()))
			if got.Collection != want.Collection || got.Kind != want.Kind || got.Max != want.Max || got.Key != key {
				t.Errorf("inspect %q: got %+v, want %+v", key, got, want)
			}
		}
		if got := clitest.Must(t, "inspect", "{Raven}/HiLo/"+zeroWidth, "--redis", s.URL()); !strings.Contains(got, `collection:  Orders\u200b`+"\n") {
			t.Errorf("inspect: %s", got)
		}

		before := clitest.Everything(t, client)
		r := clitest.Hilo(t, "export", "--redis", s.URL())
		if r.Code != exit.Done || !strings.Contains(r.Stdout, `{"kind":"hilo","collection":"Orders`+"\u200b"+`","max":4000`) ||
			!strings.Contains(r.Stdout, `"counters":3}`) || strings.Count(r.Stderr, "has a name that hilo import refuses") != 3 {
			t.Errorf("export: %+v", r)
		}
		other := redistest.StartMini(t)
		empty := clitest.Everything(t, other.Client(t))
		clitest.MustFail(t, exit.Usage, clitest.HiloIn(t, r.Stdout, "import", "--redis", other.URL()), "nothing was written",
			`line 4: collection "Orders\u200b" holds U+200B, a format character; correct the name in this line`, "line 3: collection", "line 5: collection")
		clitest.WantUnchanged(t, other.Client(t), empty)
		corrected := strings.NewReplacer("\u200b", "", decomposed, "café", "identity\",\"collection\":\"orders", "identity\",\"collection\":\"companies").Replace(r.Stdout)
		if got := clitest.HiloIn(t, corrected, "import", "--redis", other.URL()); got.Code != exit.Done {
			t.Errorf("import of the corrected names: %+v", got)
		}

		// A namespace with such counters is not locked.
		clitest.WantUnchanged(t, client, before)
		clitest.Must(t, "settings", "set", "NorthServer/", "--identities", "--yes", "--redis", s.URL())
	})
}

func TestInspectByKeyRefusesOtherKeys(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.Must(t, "settings", "set", "NorthServer/", "--redis", s.URL())
		for _, key := range []string{"{Raven}/ServerPrefixForHilo", "{Raven}/Other/orders", "{Other}/HiLo/orders", "{Raven", "{Raven}/ServerSide/x"} {
			clitest.MustFail(t, exit.Usage, clitest.Hilo(t, "inspect", key, "--redis", s.URL()), "is the key of no counter in the namespace Raven")
		}
		clitest.MustFail(t, exit.Refused, clitest.Hilo(t, "inspect", "{Raven}/HiLo/"+zeroWidth, "--redis", s.URL()), `no counter at the key "{Raven}/HiLo/orders\u200b"`)
	})
}
