package cli

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
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
		if got := must(t, "list", "--redis", s.URL()); got != "COLLECTION  MAX  RANGES  EPOCH  2^31-1  2^53-1  2^63-1\n" {
			t.Errorf("none: %q", got)
		}
		if got := must(t, "list", "--output", "json", "--redis", s.URL()); got != "[]\n" {
			t.Errorf("none as JSON: %q", got)
		}
		must(t, "seed", "companies", "--max", "9223372036854775807", "--redis", s.URL())
		must(t, "next", "orders", "--redis", s.URL())
		must(t, "next", "Baskets", "--redis", s.URL())
		must(t, "next", "orders", "--namespace", "Other", "--redis", s.URL())
		want := "" +
			"COLLECTION                  MAX  RANGES  EPOCH  2^31-1  2^53-1  2^63-1\n" +
			"Baskets                       1       1      0   <0.1%   <0.1%   <0.1%\n" +
			"companies   9223372036854775807       0      0" + strings.Repeat("    past", 3) + "\n" +
			"orders                        1       1      0   <0.1%   <0.1%   <0.1%\n"
		if got := must(t, "list", "--redis", s.URL()); got != want {
			t.Errorf("%s", got)
		}
		got := decode[[]listed](t, must(t, "--output=json", "list", "--redis", s.URL()))
		if len(got) != 3 || got[0].Collection != "Baskets" || got[1].Max != 9223372036854775807 || got[2].Ranges != 1 || got[2].Rate != nil ||
			len(got[0].Headroom) != 3 || got[0].Headroom[0].Left != 1<<31-2 {
			t.Errorf("%+v", got)
		}
	})
}

func TestListSortsAndFilters(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		for name, fields := range map[string][]any{
			"orders": {"Max", 100, "Ranges", 3, "Epoch", 0}, "people": {"Max", 9, "Ranges", 5, "Epoch", 2}, "old": {"Max", 50, "Ranges", 1, "Epoch", 1},
		} {
			s.Client(t).HSet(t.Context(), "{Raven}/HiLo/"+name, fields...)
		}
		for args, want := range map[string]string{
			"":                                   "old orders people",
			"--reverse":                          "people orders old",
			"--sort max":                         "orders old people",
			"--sort max --reverse":               "people old orders",
			"--sort ranges":                      "people orders old",
			"--sort epoch":                       "people old orders",
			"--sort headroom --limit 1000":       "orders old people",
			"--filter O* --sort name":            "old orders",
			"--filter [a-o]l? ":                  "old",
			"--filter nothing":                   "",
			"--rate-over 1ms --sort rate":        "old orders people", // all stand still
			"--rate-over 1ms --filter p* --sort": "",
		} {
			fields := append([]string{"list", "--output", "json", "--redis", s.URL()}, strings.Fields(args)...)
			if strings.HasSuffix(args, "--sort") {
				mustFail(t, exitUsage, hilo(t, fields...), "--sort needs a value")
				continue
			}
			var names []string
			for _, row := range decode[[]listed](t, must(t, fields...)) {
				names = append(names, row.Collection)
			}
			if got := strings.Join(names, " "); got != want {
				t.Errorf("list %s: %q, want %q", args, got, want)
			}
		}
		for args, want := range map[string]string{
			"--sort rate": "--sort rate needs --rate-over", "--sort size": `--sort is "size": must be name, max, ranges, epoch, headroom, rate`,
			"--rate-over 0s": `--rate-over is "0s"`, "--rate-over x": `--rate-over is "x"`, "--limit 0": "--limit is 0", "--filter=": "--filter is empty",
		} {
			mustFail(t, exitUsage, hilo(t, append(strings.Fields("list "+args), "--redis", s.URL())...), want)
		}
	})
}

func TestListShowsTheRateAndTheTimeLeft(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		client.HSet(t.Context(), "{Raven}/HiLo/orders", "Max", 1000)
		client.HSet(t.Context(), "{Raven}/HiLo/idle", "Max", 1000)
		stop := make(chan struct{})
		var rising sync.WaitGroup
		rising.Go(func() { // until the second look is over
			for ctx := context.WithoutCancel(t.Context()); ; {
				select {
				case <-stop:
					return
				default:
					client.HIncrBy(ctx, "{Raven}/HiLo/orders", "Max", 10)
				}
			}
		})
		rows := decode[[]listed](t, must(t, "list", "--rate-over", "100ms", "--limit", "1000000000", "--output", "json", "--redis", s.URL()))
		inspected := must(t, "inspect", "orders", "--rate-over", "100ms", "--redis", s.URL())
		close(stop)
		rising.Wait()
		if len(rows) != 2 || *rows[0].Rate != 0 || rows[0].Headroom[2].SecondsLeft != nil {
			t.Fatalf("%+v", rows)
		}
		last := rows[1].Headroom[2]
		if *rows[1].Rate <= 0 || last.Bound != "1000000000" || *last.SecondsLeft <= 0 {
			t.Errorf("%+v, %+v", rows[1], last)
		}
		if !strings.Contains(inspected, " a second, over 100ms\n") || !strings.Contains(inspected, "used, ") {
			t.Errorf("%s", inspected)
		}
		if got := must(t, "list", "--rate-over", "1ms", "--filter", "idle", "--redis", s.URL()); got != ""+
			"COLLECTION   MAX  RANGES  EPOCH  RATE/S  2^31-1  2^53-1  2^63-1\n"+
			"idle        1000       0      0       0       –       –       –\n" {
			t.Errorf("%s", got)
		}
	})
}

func TestListThatIsInterruptedBetweenTwoLooks(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var stderr strings.Builder
	out := writer(func(p []byte) (int, error) { return len(p), nil })
	errs := writer(stderr.Write)
	s := redistest.StartMini(t)
	s.Hook(func(cmd string, _ []string) string {
		if cmd == "SCAN" {
			cancel()
		}
		return ""
	})
	if code := runTo(ctx, &out, &errs, "list", "--rate-over", "1h", "--redis", s.URL()); code != exitFailed || stderr.String() != "hilo: interrupted\n" {
		t.Errorf("exit %d, %q", code, stderr.String())
	}
}

func TestListOfThousandsReadsInFewRoundTrips(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		pipe := s.Client(t).Pipeline()
		for i := range 5000 {
			pipe.HSet(t.Context(), fmt.Sprintf("{Raven}/HiLo/c%04d", i), "Max", i)
		}
		if _, err := pipe.Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		rows := decode[[]listed](t, must(t, "list", "--sort", "max", "--output", "json", "--timeout", "1m", "--redis", s.URL()))
		if len(rows) != 5000 || rows[0].Max != 4999 || rows[4999].Max != 0 {
			t.Errorf("%d rows", len(rows))
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

func TestInspectOfOtherKinds(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		mustFail(t, exitRefused, hilo(t, "inspect", "Companies|", "--redis", s.URL()), `no identity "Companies"`, "hilo identity next")
		mustFail(t, exitRefused, hilo(t, "inspect", "companies/", "--redis", s.URL()), "no counter of server-side identifiers", "hilo id companies/")
		must(t, "identity", "next", "companies", "--redis", s.URL())
		must(t, "id", "invoices/", "--redis", s.URL())
		for name, want := range map[string]inspected{
			"Companies|": {Collection: "companies", Kind: "identity", Max: 1, Key: "{Raven}/Identities/companies"},
			"invoices/":  {Collection: "invoices", Kind: "server-side", Max: 1, Key: "{Raven}/ServerSide"},
		} {
			got := decode[inspected](t, must(t, "inspect", name, "--output", "json", "--redis", s.URL()))
			if got.Collection != want.Collection || got.Kind != want.Kind || got.Max != 1 || got.Key != want.Key {
				t.Errorf("%s: %+v", name, got)
			}
			if text := must(t, "inspect", name, "--redis", s.URL()); !strings.Contains(text, "Value:") || !strings.Contains(text, "HGETALL '"+want.Key+"'") {
				t.Errorf("%s", text)
			}
		}
		mustFail(t, exitUsage, hilo(t, "inspect", "|", "--redis", s.URL()), "collection is empty")
	})
}

func TestInspectOfNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		mustFail(t, exitRefused, hilo(t, "inspect", "orders", "--redis", s.URL()), `no counter for "orders" in the namespace Raven`, "hilo seed")
		must(t, "identity", "seed", "Companies", "--value", "7", "--redis", s.URL())
		mustFail(t, exitRefused, hilo(t, "inspect", "companies", "--redis", s.URL()), `no counter for "companies"`, "but an identity, whose value is 7; hilo identity next")
		mustFail(t, exitRefused, hilo(t, "inspect", "orders", "--redis", s.URL()), "hilo next makes one")
	})
}

func TestHeadroomOfACounterThatIsPast(t *testing.T) {
	t.Parallel()
	got := headrooms(1<<53 - 1)
	if got[0].Left != 0 || got[0].Used != 100 || got[1].Left != 0 || got[1].percent() != "100.00%" || got[2].percent() != "0.10%" {
		t.Errorf("%+v", got)
	}
	if got := headrooms(math.MaxInt64 - 1); got[2].Left != 1 || got[2].percent() != "more than 99.99%" {
		t.Errorf("%+v", got)
	}
	if got := headrooms(0); got[0].percent() != "0.00%" {
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
