package cli

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestBenchFiguresAddUp(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		got := clitest.Decode[benchReport](t, clitest.Must(t, "bench", "--workers", "4",
			"--count", "200000", "--output", "json", "--redis", s.URL()))
		if got.IDs != 200_000 || got.IDs != got.Total.Issued || got.Seconds <= 0 || got.Interrupted {
			t.Errorf("%+v", got)
		}
		if near := float64(got.IDs) / got.Seconds; got.PerSecond < 0.99*near || got.PerSecond > 1.01*near {
			t.Errorf("%f ids/s, want %f", got.PerSecond, near)
		}
		total := got.Total
		if total.Ranges == 0 || total.Reserved != total.Issued+total.Returned+total.Burnt || total.Held != total.Returned+total.Burnt {
			t.Errorf("got %+v", total)
		}
		if want := []benchOf{{"orders", total}}; !slices.Equal(got.Collections, want) {
			t.Errorf("got %+v, want %+v", got.Collections, want)
		}
		if got.RoundTripsPerID != float64(total.Ranges)/float64(got.IDs) || got.BurntPerID != float64(total.Burnt)/float64(got.IDs) {
			t.Errorf("%+v", got)
		}
		checkLatency(t, got.Latency)
		if got.Sampling.OneIn != 100 || got.Sampling.Waited != got.CallsThatWaited || got.CallsThatWaited == 0 {
			t.Errorf("%+v", got.Sampling)
		}
		clitest.CheckEmpty(t, s)
	})
}

func TestBenchExcludesTheWarmUp(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		args := []string{"bench", "--workers", "2", "--rate", "20000", "--count", "5000", "--redis", s.URL()}
		cold := clitest.Decode[benchReport](t, clitest.Must(t, append(args, "--output", "json")...))
		warm := clitest.Decode[benchReport](t, clitest.Must(t, append(args, "--output", "json", "--warmup", "300ms")...))
		if cold.Total.Ranges == 0 || cold.Warmup != 0 {
			t.Errorf("cold: %+v", cold)
		}
		if warm.IDs != 5000 || warm.Total.Issued != 5000 || warm.Warmup != 0.3 || warm.Total.Reserved != warm.Total.Issued+warm.Total.Returned+warm.Total.Burnt {
			t.Errorf("warm: %+v", warm)
		}
		if warm.Total.Ranges >= cold.Total.Ranges || warm.Total.Reserved < warm.Total.Issued {
			t.Errorf("warm: %+v, cold: %+v", warm, cold)
		}
		if text := clitest.Must(t, append(args, "--warmup", "10ms")...); !strings.Contains(text, ", warm-up 10ms\n") {
			t.Errorf("%s", text)
		}
		clitest.CheckEmpty(t, s)
	})
}

func checkLatency(t *testing.T, p benchLatency) {
	t.Helper()
	if !slices.IsSorted([]int64{0, p.P50, p.P99, p.P999, p.P9999, p.Greatest}) || p.Greatest == 0 {
		t.Errorf("%+v", p)
	}
}

func TestBenchRunsForItsDuration(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		got := clitest.Decode[benchReport](t, clitest.Must(t, "bench", "--duration", "50ms", "--output", "json", "--redis", s.URL()))
		if got.Seconds < 0.05 || got.IDs != got.Total.Issued {
			t.Errorf("%+v", got)
		}
		clitest.CheckEmpty(t, s)
	})
}

func TestBenchTakesExactlyTheCount(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		"--count 1 --workers 5",
		"--count 1003 --workers 7",
		"--count 250001 --workers 7", // a sample of which is timed
		"--count 103 --workers 7 --rate 1000",
		"--count 3 --workers 7 --rate 1000",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			count, err := strconv.ParseInt(strings.Fields(args)[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			got := clitest.Decode[benchReport](t, clitest.Must(t, append([]string{"bench", "--output", "json", "--redis", "embedded:"}, strings.Fields(args)...)...))
			if got.IDs != count || got.Total.Issued != count {
				t.Errorf("%d ids, %d issued, want %d", got.IDs, got.Total.Issued, count)
			}
			if s := got.Sampling; s.Waited+s.Timed > count || s.OneIn == 1 && s.Waited+s.Timed != count {
				t.Errorf("%+v", s)
			}
		})
	}
}

// How much slower it is depends on the machine, so there is no lower bound.
func TestBenchIsNeverFasterThanItsRate(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		got := clitest.Decode[benchReport](t, clitest.Must(t, "bench", "--rate", "1000", "--duration", "100ms", "--output", "json", "--redis", s.URL()))
		if got.IDs > 100 || got.Seconds < 0.1 || got.TargetRate != 1000 || got.Sampling.OneIn != 1 {
			t.Errorf("%+v", got)
		}
		got = clitest.Decode[benchReport](t, clitest.Must(t, "bench", "--rate", "1000", "--count", "100", "--output", "json", "--redis", s.URL()))
		if got.IDs != 100 || got.Seconds < 0.1 || got.PerSecond > 1000 {
			t.Errorf("%+v", got)
		}
		if got.Total.Ranges > 10 { // their capacity grows from 32
			t.Errorf("%d ranges for %d ids", got.Total.Ranges, got.IDs)
		}
	})
}

func TestBenchUsesOnlyKeysOfItsOwnNamespace(t *testing.T) {
	t.Parallel()
	s := redistest.StartMini(t)
	var lock sync.Mutex
	keys, commands := map[string]bool{}, map[string]bool{}
	s.Hook(func(cmd string, args []string) string {
		lock.Lock()
		defer lock.Unlock()
		for _, arg := range args {
			if strings.HasPrefix(arg, "{") {
				commands[cmd] = true
				keys[arg[:min(len(arg), len("{hilo-bench-"))]] = true
			}
		}
		return ""
	})
	environment := map[string]string{"HILO_NAMESPACE": "Mine", "HILO_REDIS_URL": s.URL()}
	if r := clitest.HiloWith(t, environment, "bench", "--count", "500"); r.Code != exit.Done {
		t.Fatalf("%+v", r)
	}
	if got := slices.Sorted(maps.Keys(keys)); !slices.Equal(got, []string{"{hilo-bench-"}) {
		t.Errorf("keys %q", got)
	}
	for _, cmd := range []string{"EVALSHA", "DEL"} {
		if !commands[cmd] {
			t.Errorf("no %s was seen", cmd)
		}
	}
	clitest.CheckEmpty(t, s)
}

func TestBenchInTheUsersNamespaceKeepsTheCounter(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		args := []string{"bench", "--namespace", "Mine", "--count", "500", "--redis", s.URL()}
		clitest.MustFail(t, exit.Usage, clitest.Hilo(t, args...), "needs a COLLECTION", "raised")
		clitest.CheckEmpty(t, s)
		clitest.MustFail(t, exit.Refused, clitest.Hilo(t, append(args, "orders")...), "hilo init")

		s.Initialize("Mine")
		if got := clitest.Must(t, append(args, "orders")...); !strings.Contains(got, "The counter in the namespace Mine stays raised.") {
			t.Errorf("%s", got)
		}
		client := s.Client(t)
		if got := client.Keys(t.Context(), "{Mine}/HiLo/*").Val(); !slices.Equal(got, []string{"{Mine}/HiLo/orders"}) {
			t.Errorf("keys %q", got)
		}
		if got := client.HGet(t.Context(), "{Mine}/HiLo/orders", "Max").Val(); got != "500" {
			t.Errorf("Max is %s", got)
		}
	})
}

func TestBenchPrintsText(t *testing.T) {
	t.Parallel()
	full := clitest.Must(t, "bench", "invoices", "--count", "5000", "--workers", "1", "--redis", "embedded:")
	paced := clitest.Must(t, "bench", "--count", "50", "--rate", "10000", "--redis", "embedded:")
	for _, test := range []struct{ text, want string }{
		{full, " ids/s at full speed\n"},
		{full, "workers:      1\n"},
		{full, "ids:          5000 in "},
		{full, "\nlatency:      p50 "},
		{full, "\n              p99.99 "},
		{full, "\nCOLLECTION  RANGES  RESERVED  ISSUED  RETURNED  BURNT "},
		{full, "\ninvoices    "},
		{paced, " ids/s of 10000 wanted\n"},
	} {
		if !strings.Contains(test.text, test.want) {
			t.Errorf("%q is not in\n%s", test.want, test.text)
		}
	}
}

func TestBenchRefusesABadCommandLine(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, args, want string }{
		{"no workers", "--workers 0", "--workers is 0: must be 1 or more"},
		{"workers below 0", "--workers -3", "--workers is -3: must be 1 or more"},
		{"too many workers", "--workers 10001", "--workers is 10001: must be at most 10000"},
		{"workers of words", "--workers many", `--workers is "many": must be a whole number`},
		{"no time", "--duration 0s", "--duration is 0s: must be more than 0"},
		{"time below 0", "--duration -1s", "--duration is -1s: must be more than 0"},
		{"time without a unit", "--duration 5", `--duration is "5": must be a duration`},
		{"no count", "--count 0", "--count is 0: must be 1 or more"},
		{"two ends", "--count 5 --duration 5s", "exclude each other"},
		{"no rate", "--rate 0", "--rate is 0: must be 1 or more"},
		{"a rate below 0", "--rate -1", "--rate is -1: must be 1 or more"},
		{"a rate too high", "--rate 1000000001", "must be at most 1000000000"},
		{"a bad collection", "a/b", `"a/b" holds the separator`},
		{"several servers", "--redis a=embedded: --redis b=embedded:", "uses one server"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			environment := map[string]string{"HILO_REDIS_URL": "redis://127.0.0.1:1/0"} // not used
			clitest.MustFail(t, exit.Usage, clitest.HiloWith(t, environment, append([]string{"bench"}, strings.Fields(test.args)...)...), test.want)
		})
	}
}
