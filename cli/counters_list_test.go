package cli

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestListShowsAllCountersByName(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		if got := clitest.Must(t, "list", "--redis", s.URL()); got != "COLLECTION  MAX  RANGES  JUMPS  2^31-1  2^53-1  2^63-1\n" {
			t.Errorf("none: %q", got)
		}
		if r := clitest.Hilo(t, "list", "--output", "json", "--redis", s.URL()); r.Stdout != "[]\n" || r.Stderr != "" {
			t.Errorf("none as JSON: %+v", r)
		}
		for line, want := range map[string]string{
			"list":                  "no counters in namespace Raven\n",
			"ls --filter x*":        "no counters in namespace Raven match \"x*\"\n",
			"identity ls":           "no identities in namespace Raven\n",
			"list --namespace Shop": "no counters in namespace Shop\n",
		} {
			if r := clitest.Hilo(t, append(strings.Fields(line), "--redis", s.URL())...); r.Code != exit.Done || r.Stderr != want {
				t.Errorf("hilo %s: got %+v, want stderr %q", line, r, want)
			}
		}
		clitest.Must(t, "seed", "companies", "--max", "9223372036854775807", "--redis", s.URL())
		clitest.Must(t, "next", "orders", "--redis", s.URL())
		clitest.Must(t, "next", "Baskets", "--redis", s.URL())
		s.Initialize("Other")
		clitest.Must(t, "next", "orders", "--namespace", "Other", "--redis", s.URL())
		want := "" +
			"COLLECTION                  MAX  RANGES  JUMPS  2^31-1  2^53-1  2^63-1\n" +
			"Baskets                       1       1      0   <0.1%   <0.1%   <0.1%\n" +
			"companies   9223372036854775807       0      0" + strings.Repeat("    past", 3) + "\n" +
			"orders                        1       1      0   <0.1%   <0.1%   <0.1%\n"
		if got := clitest.Must(t, "list", "--redis", s.URL()); got != want {
			t.Errorf("%s", got)
		}
		got := clitest.Decode[[]listed](t, clitest.Must(t, "--output=json", "list", "--redis", s.URL()))
		if len(got) != 3 || got[0].Collection != "Baskets" || got[1].Max != 9223372036854775807 || got[2].Ranges != 1 ||
			len(got[0].Headroom) != 3 || got[0].Headroom[0].Left != 1<<31-2 {
			t.Errorf("%+v", got)
		}
	})
}

func TestListSortsAndFilters(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		for name, fields := range map[string][]any{
			"orders": {"Max", 100, "Ranges", 3, "Epoch", 0}, "people": {"Max", 9, "Ranges", 5, "Epoch", "1700000000000000002"}, "old": {"Max", 50, "Ranges", 1, "Epoch", "1700000000000000001"},
		} {
			s.Client(t).HSet(t.Context(), "{Raven}/HiLo/"+name, fields...)
		}
		for args, want := range map[string]string{
			"":                             "old orders people",
			"--reverse":                    "people orders old",
			"--sort max":                   "orders old people",
			"--sort max --reverse":         "people old orders",
			"--sort ranges":                "people orders old",
			"--sort jumps":                 "people old orders",
			"--sort headroom --limit 1000": "orders old people",
			"--filter O* --sort name":      "old orders",
			"--filter [a-o]l? ":            "old",
			`--filter [\]o]l?`:             "old",
			`--filter \[*`:                 "",
			`--filter *]`:                  "",
			"--filter nothing":             "",
			"--filter p* --sort":           "",
		} {
			fields := append([]string{"list", "--output", "json", "--redis", s.URL()}, strings.Fields(args)...)
			if strings.HasSuffix(args, "--sort") {
				clitest.MustFail(t, exit.Usage, clitest.Hilo(t, fields...), "--sort needs a value")
				continue
			}
			var names []string
			for _, row := range clitest.Decode[[]listed](t, clitest.Must(t, fields...)) {
				names = append(names, row.Collection)
			}
			if got := strings.Join(names, " "); got != want {
				t.Errorf("list %s: %q, want %q", args, got, want)
			}
		}
		for args, want := range map[string]string{
			"--sort size": `--sort is "size": must be name, max, ranges, jumps or headroom`, "--limit 0": "--limit is 0", "--filter=": "--filter is empty",
		} {
			clitest.MustFail(t, exit.Usage, clitest.Hilo(t, append(strings.Fields("list "+args), "--redis", s.URL())...), want)
		}
	})
}

func TestListOfThousandsReadsInFewRoundTrips(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		pipe := client.Pipeline()
		for i := range 5000 {
			pipe.HSet(t.Context(), fmt.Sprintf("{Raven}/HiLo/c%04d", i), "Max", i)
		}
		if _, err := pipe.Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		reads := func() int { // by the server, of up to 16 KB each; miniredis has no count
			n, _ := strconv.Atoi(client.InfoMap(t.Context(), "stats").Item("Stats", "total_reads_processed"))
			return n
		}
		before := reads()
		rows := clitest.Decode[[]listed](t, clitest.Must(t, "list", "--sort", "max", "--output", "json", "--redis", s.URL()))
		if len(rows) != 5000 || rows[0].Max != 4999 || rows[4999].Max != 0 {
			t.Errorf("%d rows", len(rows))
		}
		if n := reads() - before; n > len(rows)/10 {
			t.Errorf("the server read %d times, for %d rows", n, len(rows))
		}
	})
}

func TestListShowsTheRestBesideCorruptCounters(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.Must(t, "next", "orders", "--redis", s.URL())
		client := s.Client(t)
		client.HSet(t.Context(), "{Raven}/HiLo/broken", "Max", "01")
		client.HSet(t.Context(), "{Raven}/HiLo/bad", "Max", "abc")
		client.Set(t.Context(), "{Raven}/HiLo/text", "x", 0)
		const remedy = "correct it with redis-cli; nothing was changed"
		for _, servers := range [][]string{{s.URL()}, {"a=" + s.URL(), "b=embedded:"}} {
			args := []string{"list"}
			for _, one := range servers {
				args = append(args, "--redis", one)
			}
			r := clitest.Hilo(t, args...)
			if !strings.Contains(r.Stdout, "orders") {
				t.Errorf("stdout %q", r.Stdout)
			}
			r.Stdout = ""
			clitest.MustFail(t, exit.Failed, r, `key {Raven}/HiLo/bad field Max holds "abc": must be `, `; key {Raven}/HiLo/broken field Max holds "01": must be `,
				"; key {Raven}/HiLo/text is not a hash; "+remedy+"\n")
			if n := strings.Count(r.Stderr, remedy); n != 1 {
				t.Errorf("stderr %q has the remedy %d times, want once", r.Stderr, n)
			}
		}
	})
}
