package cli

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// masters starts two servers with prefixes, and gives the flags that name them.
func masters(t *testing.T, start func() *redistest.Server) (north, south *redistest.Server, flags []string) {
	t.Helper()
	north, south = start(), start()
	must(t, "prefix", "set", "NorthServer/", "--redis", north.URL())
	must(t, "prefix", "set", "SouthServer/", "--redis", south.URL())
	return north, south, []string{"--redis", "north=" + north.URL(), "--redis", "south=" + south.URL(), "--timeout", "2s"}
}

// eachStart is redistest.Each for tests that want more than one server.
func eachStart(t *testing.T, test func(t *testing.T, start func(args ...string) *redistest.Server)) {
	t.Helper()
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		test(t, func(...string) *redistest.Server { return redistest.StartMini(t) })
	})
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			test(t, func(args ...string) *redistest.Server { return redistest.Start(t, b, args...) })
		})
	}
}

func TestCommandsThatAllocateGoOnAtTheNextMaster(t *testing.T) {
	t.Parallel()
	eachStart(t, func(t *testing.T, start func(...string) *redistest.Server) {
		north, south, flags := masters(t, func() *redistest.Server { return start() })
		if got := must(t, append(flags, "next", "orders", "--count", "2")...); got != "orders/NorthServer/1\norders/NorthServer/2\n" {
			t.Errorf("%q", got)
		}
		if got := must(t, append(flags, "next", "orders", "--prefer", "south")...); got != "orders/SouthServer/1\n" {
			t.Errorf("preferring south: %q", got)
		}
		if got := must(t, append(flags, "identity", "next", "companies")...); got != "companies/1\n" {
			t.Errorf("identity: %q", got)
		}
		north.Kill()
		for command, want := range map[string]string{
			"next orders":   "orders/SouthServer/2\n",
			"id companies/": "companies/SouthServer/0000000000000000001\n",
		} {
			r := hilo(t, append(flags, strings.Fields(command)...)...)
			if r.code != exitDone || r.stdout != want {
				t.Errorf("with north away: %s: %+v", command, r)
			}
		}
		r := hilo(t, append(flags, "identity", "next", "companies")...)
		mustFail(t, exitUnavailable, r, "north: no Redis answers at "+strings.TrimSuffix(strings.TrimPrefix(north.URL(), "redis://"), "/0"))
		if strings.Contains(r.stderr, "south: ") {
			t.Errorf("south is blamed: %q", r.stderr)
		}
		south.Kill()
		for _, command := range []string{"next orders", "id companies/"} {
			r := hilo(t, append(flags, strings.Fields(command)...)...)
			_, said, _ := strings.Cut(r.stderr, "hilo: ") // behind the warnings
			mustFail(t, exitUnavailable, result{r.code, r.stdout, "hilo: " + said}, "north: no Redis answers at ", "; south: no Redis answers at ")
		}
	})
}

func TestAMasterWithoutPrefixIsRefused(t *testing.T) {
	t.Parallel()
	eachStart(t, func(t *testing.T, start func(...string) *redistest.Server) {
		north, _, flags := masters(t, func() *redistest.Server { return start() })
		must(t, "prefix", "clear", "--redis", north.URL())
		mustFail(t, exitRefused, hilo(t, append(flags, "next", "orders")...), "orders on north: server prefix missing", "hilo prefix set")
	})
}

func TestRefusalsOfSeveralServersHaveTheirCodes(t *testing.T) {
	t.Parallel()
	for _, refusal := range []error{allocator.ErrPrefixMissing, allocator.ErrPrefixConflict, allocator.ErrNotDurable} {
		t.Run(refusal.Error(), func(t *testing.T) {
			t.Parallel()
			var stderr strings.Builder
			err := fmt.Errorf("allocator: orders: %w", errors.Join(
				fmt.Errorf("on north: %w: dial tcp", allocator.ErrUnavailable), fmt.Errorf("on south: %w: so it is", refusal)))
			if code := report(&stderr, err); code != exitRefused || !strings.Contains(stderr.String(), "so it is; ") {
				t.Errorf("exit %d, %q", code, stderr.String())
			}
		})
	}
}

func TestDurabilityIsAskedFor(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		for _, command := range []string{"next orders", "id companies/", "identity next companies"} {
			args := append(strings.Fields(command), "--replicas", "1", "--durable-timeout", "10ms", "--redis", s.URL())
			mustFail(t, exitRefused, hilo(t, args...), "0 of 1 replicas have it within 10ms", "--replicas")
			args = append(strings.Fields(command), "--fsync", "--durable-timeout", "10ms", "--redis", s.URL())
			what := "not on disk within 10ms"
			if strings.HasPrefix(s.Name(), "redis-7.0") {
				what = "the server has no WAITAOF"
			}
			mustFail(t, exitRefused, hilo(t, args...), what)
		}
	})
}

func TestRequireSeededIsAskedFor(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		for _, command := range []string{"next orders", "id companies/", "identity next companies"} {
			args := append(strings.Fields(command), "--require-seeded", "--redis", s.URL())
			mustFail(t, exitRefused, hilo(t, args...), "hilo seed")
		}
		must(t, "seed", "orders", "--max", "7", "--redis", s.URL())
		if got := must(t, "next", "orders", "--require-seeded", "--redis", s.URL()); got != "orders/8\n" {
			t.Errorf("%q", got)
		}
	})
}

func TestTheEnvironmentSaysHowToAllocate(t *testing.T) {
	t.Parallel()
	north, south, _ := masters(t, func() *redistest.Server { return redistest.StartMini(t) })
	urls := fmt.Sprintf("north=%s south=%s", north.URL(), south.URL())
	r := hiloWith(t, map[string]string{"HILO_REDIS_URL": urls, "HILO_PREFER": "south"}, "next", "orders")
	if r.code != exitDone || r.stdout != "orders/SouthServer/1\n" {
		t.Errorf("%+v", r)
	}
	r = hiloWith(t, map[string]string{"HILO_REDIS_URL": urls, "HILO_PREFER": "south"}, "next", "orders", "--prefer", "north")
	if r.code != exitDone || r.stdout != "orders/NorthServer/1\n" {
		t.Errorf("a flag wins: %+v", r)
	}
	r = hiloWith(t, map[string]string{"HILO_REDIS_URL": urls, "HILO_REQUIRE_SEEDED": "true"}, "next", "companies")
	mustFail(t, exitRefused, r, "not seeded")
	r = hiloWith(t, map[string]string{"HILO_REDIS_URL": urls, "HILO_REQUIRE_SEEDED": "true"}, "next", "companies", "--require-seeded=false")
	if r.code != exitDone {
		t.Errorf("%+v", r)
	}
}

func TestMistakesAboutServers(t *testing.T) {
	t.Parallel()
	two := []string{"next", "orders", "--redis", "north=embedded:", "--redis", "south=embedded:"}
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"a preference for nobody", append(two, "--prefer", "west"), `--prefer is "west": must be one of the servers that --redis names: north, south`},
		{"a preference without names", []string{"next", "orders", "--redis", "embedded:", "--prefer", "west"}, `--prefer is "west", and no server has a name`},
		{"a name twice", []string{"next", "orders", "--redis", "a=embedded:", "--redis", "a=embedded:"}, `two servers "a"`},
		{"no names", []string{"next", "orders", "--redis", "embedded:", "--redis", "embedded:"}, "each needs a name of its own"},
		{"replicas of words", append(two, "--replicas", "all"), `--replicas is "all": must be a whole number, 0 to 1000`},
		{"replicas below 0", append(two, "--replicas", "-1"), "must be a whole number, 0 to 1000"},
		{"a wait without a unit", append(two, "--durable-timeout", "5"), `--durable-timeout is "5": must be a duration of 1ms or more`},
		{"a wait for nothing", append(two, "--durable-timeout", "1us"), "must be a duration of 1ms or more"},
		{"two servers where one is worked on", []string{"list", "--redis", "a=embedded:", "--redis", "b=embedded:"}, "hilo list works on one server and 2 are named"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			mustFail(t, exitUsage, hilo(t, test.args...), test.want)
		})
	}
	for _, name := range []string{"HILO_REPLICAS", "HILO_FSYNC", "HILO_DURABLE_TIMEOUT", "HILO_REQUIRE_SEEDED", "HILO_PREFER"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mustFail(t, exitUsage, hiloWith(t, map[string]string{name: "{{{"}, "next", "orders", "--redis", "embedded:"), name)
		})
	}
}
