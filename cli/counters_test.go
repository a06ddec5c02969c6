package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestSeedRaisesAndLowersOnlyWithForce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		steps := []struct{ args, want, after string }{
			{"--max 4000", "orders: Max is 4000\n", "orders/4001\n"},
			{"--max 4001", "orders: Max is 4001\n", "orders/4002\n"},
			{"--max 17", "orders: Max stays 4002, above 17; --force lowers it\n", "orders/4003\n"},
			{"--force --max 17", "orders: Max is 17\n", "orders/18\n"},
			{"--max=0 --force", "orders: Max is 0\n", "orders/1\n"},
			{"--max 0", "orders: Max stays 1, above 0; --force lowers it\n", "orders/2\n"},
		}
		for _, step := range steps {
			args := append([]string{"seed", "orders", "--redis", s.URL()}, strings.Fields(step.args)...)
			if got := must(t, args...); got != step.want {
				t.Errorf("seed %s: %q, want %q", step.args, got, step.want)
			}
			if got := must(t, "next", "orders", "--redis", s.URL()); got != step.after {
				t.Errorf("after seed %s: %q, want %q", step.args, got, step.after)
			}
		}
	})
}

func TestSeedAsJSON(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		const most = 9223372036854775807
		seed := func(max string, flags ...string) seeded {
			return decode[seeded](t, must(t, append([]string{"seed", "orders", "--max", max, "--output", "json", "--redis", s.URL()}, flags...)...))
		}
		for _, got := range []struct{ is, want seeded }{
			{seed("9223372036854775807"), seeded{"orders", most, most, true}},
			{seed("5"), seeded{"orders", most, 5, false}},
			{seed("5", "--force=false"), seeded{"orders", most, 5, false}},
		} {
			if got.is != got.want {
				t.Errorf("%+v, want %+v", got.is, got.want)
			}
		}
	})
}

func TestListShowsAllCountersByName(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		if got := must(t, "list", "--redis", s.URL()); got != "COLLECTION  MAX  RANGES  EPOCH\n" {
			t.Errorf("none: %q", got)
		}
		if got := must(t, "list", "--output", "json", "--redis", s.URL()); got != "[]\n" {
			t.Errorf("none as JSON: %q", got)
		}
		must(t, "seed", "companies", "--max", "9223372036854775807", "--redis", s.URL())
		must(t, "next", "orders", "--redis", s.URL())
		must(t, "next", "Baskets", "--redis", s.URL())
		must(t, "next", "orders", "--namespace", "Other", "--redis", s.URL())
		const want = "" +
			"COLLECTION  MAX                  RANGES  EPOCH\n" +
			"Baskets     1                    1       0\n" +
			"companies   9223372036854775807  0       0\n" +
			"orders      1                    1       0\n"
		if got := must(t, "list", "--redis", s.URL()); got != want {
			t.Errorf("%s", got)
		}
		got := decode[[]listed](t, must(t, "--output=json", "list", "--redis", s.URL()))
		if !slices.Equal(got, []listed{{"Baskets", 1, 1, 0}, {"companies", 9223372036854775807, 0, 0}, {"orders", 1, 1, 0}}) {
			t.Errorf("%+v", got)
		}
	})
}

func TestListShowsTheRestBesideACorruptCounter(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		must(t, "next", "orders", "--redis", s.URL())
		if err := s.Client(t).HSet(t.Context(), "{Raven}/HiLo/broken", "Max", "01").Err(); err != nil {
			t.Fatal(err)
		}
		r := hilo(t, "list", "--redis", s.URL())
		if !strings.Contains(r.stdout, "orders") {
			t.Errorf("stdout %q", r.stdout)
		}
		r.stdout = ""
		mustFail(t, exitFailed, r, "{Raven}/HiLo/broken", `"01"`)
	})
}

func TestInspectShowsOneCounter(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		must(t, "seed", "Orders", "--max", "1073741822", "--redis", s.URL())
		must(t, "next", "orders", "--redis", s.URL())

		text := must(t, "inspect", "ORDERS", "--redis", s.URL())
		for _, want := range []string{
			"collection:  Orders\n", "Max:         1073741823\n", "ranges:      1 handed out\n", "epoch:       0\n",
			"in Redis:    HGETALL '{Raven}/HiLo/orders'\n", "to 2^31-1:   1073741824 left, 50.00% used\n",
			"to 2^53-1:   9007198180999168 left, less than 0.01% used\n",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not in\n%s", want, text)
			}
		}
		got := decode[inspected](t, must(t, "inspect", "orders", "--output", "json", "--redis", s.URL()))
		if len(got.Origin) != 40 || got.Key != "{Raven}/HiLo/orders" || got.Max != 1073741823 || len(got.Headroom) != 3 {
			t.Errorf("%+v", got)
		}
	})
}

func TestInspectOfNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		mustFail(t, exitRefused, hilo(t, "inspect", "orders", "--redis", s.URL()), `no counter for "orders" in the namespace Raven`, "hilo seed")
	})
}

func TestHeadroomOfACounterThatIsPast(t *testing.T) {
	t.Parallel()
	got := headrooms(1<<53 - 1)
	if got[0].Left != 0 || got[0].Used != 100 || got[1].Left != 0 || percent(got[1].Used) != "100.00%" {
		t.Errorf("%+v", got)
	}
	if got := headrooms(0); percent(got[0].Used) != "0.00%" {
		t.Errorf("%+v", got)
	}
}

func TestPrefixSetReplacesWhatIsNamedAndKeepsWhatIsNot(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		steps := []struct {
			args []string
			want shownPrefix
		}{
			{[]string{"get"}, shownPrefix{"", "", "orders/1"}},
			{[]string{"set", "NorthServer/"}, shownPrefix{"NorthServer/", "", "orders/NorthServer/1"}},
			{[]string{"set", "--tag", "A"}, shownPrefix{"NorthServer/", "A", "orders/NorthServer/1-A"}},
			{[]string{"set", "South,"}, shownPrefix{"South,", "A", "orders/South,1-A"}},
			{[]string{"set", ""}, shownPrefix{"", "A", "orders/1-A"}},
			{[]string{"set", "North/", "--tag", ""}, shownPrefix{"North/", "", "orders/North/1"}},
			{[]string{"set", "--tag", "B", "X/"}, shownPrefix{"X/", "B", "orders/X/1-B"}},
			{[]string{"get"}, shownPrefix{"X/", "B", "orders/X/1-B"}},
			{[]string{"clear"}, shownPrefix{"", "", "orders/1"}},
			{[]string{"get"}, shownPrefix{"", "", "orders/1"}},
		}
		for _, step := range steps {
			args := append([]string{"prefix", "--redis", s.URL(), "--output", "json"}, step.args...)
			if got := decode[shownPrefix](t, must(t, args...)); got != step.want {
				t.Errorf("%q: %+v, want %+v", step.args, got, step.want)
			}
		}
		const want = "prefix:       none\ntag:          none\nidentifiers:  orders/1\n"
		if got := must(t, "prefix", "get", "--redis", s.URL()); got != want {
			t.Errorf("%q", got)
		}
	})
}
