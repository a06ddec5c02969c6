package cli

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/term"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestCommandsThatAllocateContinueAtTheNextMaster(t *testing.T) {
	t.Parallel()
	clitest.EachStart(t, func(t *testing.T, start func(...string) *redistest.Server) {
		north, south, flags := clitest.Masters(t, func() *redistest.Server { return start() })
		if got := clitest.Must(t, append(flags, "next", "orders", "--count", "2")...); got != "orders/NorthServer/1\norders/NorthServer/2\n" {
			t.Errorf("%q", got)
		}
		if got := clitest.Must(t, append(flags, "next", "orders", "--prefer", "south")...); got != "orders/SouthServer/1\n" {
			t.Errorf("preferring south: %q", got)
		}
		if got := clitest.Must(t, append(flags, "identity", "next", "companies")...); got != "companies/1\n" {
			t.Errorf("identity: %q", got)
		}
		north.Kill()
		for command, want := range map[string]string{
			"next orders":   "orders/SouthServer/2\n",
			"id companies/": "companies/SouthServer/0000000000000000001\n",
		} {
			r := clitest.Hilo(t, append(flags, strings.Fields(command)...)...)
			if r.Code != exit.Done || r.Stdout != want {
				t.Errorf("with north away: %s: %+v", command, r)
			}
		}
		r := clitest.Hilo(t, append(flags, "identity", "next", "companies")...)
		clitest.MustFail(t, exit.Unavailable, r, "north: no Redis answers at "+strings.TrimSuffix(strings.TrimPrefix(north.URL(), "redis://"), "/0"))
		if strings.Contains(r.Stderr, "south: ") {
			t.Errorf("south is blamed: %q", r.Stderr)
		}
		south.Kill()
		for _, command := range []string{"next orders", "id companies/"} {
			r := clitest.Hilo(t, append(flags, strings.Fields(command)...)...)
			_, said, _ := strings.Cut(r.Stderr, "hilo: ") // behind the warnings
			clitest.MustFail(t, exit.Unavailable, clitest.Result{Code: r.Code, Stdout: r.Stdout, Stderr: "hilo: " + said}, "north: no Redis answers at ", "; south: no Redis answers at ")
		}
	})
}

func TestMasterWithoutPrefixIsOutOfUse(t *testing.T) {
	t.Parallel()
	clitest.EachStart(t, func(t *testing.T, start func(...string) *redistest.Server) {
		north, _, flags := clitest.Masters(t, func() *redistest.Server { return start() })
		clitest.Must(t, "settings", "clear", "--yes", "--redis", north.URL())
		r := clitest.Hilo(t, append(flags, "next", "orders")...)
		if r.Code != exit.Done || r.Stdout != "orders/SouthServer/1\n" || !strings.Contains(r.Stderr, "north") || !strings.Contains(r.Stderr, "server prefix missing") {
			t.Errorf("got %+v, want the other master and a line about north", r)
		}
	})
}

func TestRefusalsOfSeveralServersHaveTheirCodes(t *testing.T) {
	t.Parallel()
	for _, refusal := range []error{allocator.ErrIdentitiesElsewhere, allocator.ErrPrefixConflict, allocator.ErrNotDurable} {
		t.Run(refusal.Error(), func(t *testing.T) {
			t.Parallel()
			var stderr strings.Builder
			err := fmt.Errorf("allocator: orders: %w", errors.Join(
				fmt.Errorf("on north: %w: dial tcp", allocator.ErrUnavailable), fmt.Errorf("on south: %w: so it is", refusal)))
			if code := exit.Report(&stderr, term.Style{}, err); code != exit.Refused || !strings.Contains(stderr.String(), "so it is; ") {
				t.Errorf("exit %d, %q", code, stderr.String())
			}
		})
	}
}

func TestServerWithoutSettingsMakesNoCounters(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.Must(t, "next", "orders", "--redis", s.URL())
		if err := s.Client(t).FlushAll(t.Context()).Err(); err != nil { // as a server that restarted empty
			t.Fatal(err)
		}
		for _, command := range []string{
			"next orders", "id companies/", "identity next companies", "seed orders --max 7", "seed orders --max 7 --dry-run", "identity seed companies --value 7",
			"settings set North/", "settings clear --yes",
		} {
			r := clitest.Hilo(t, append(strings.Fields(command), "--redis", s.URL())...)
			clitest.MustFail(t, exit.Refused, r, "the server has no settings", "hilo init", "hilo help recover")
		}
		clitest.CheckEmpty(t, s)
	})
}

func TestServerThatMakesNoCountersNamesTheWayOut(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.Must(t, "settings", "set", "--seeded-only", "--redis", s.URL())
		for _, command := range []string{"next orders", "id companies/", "identity next companies"} {
			clitest.MustFail(t, exit.Refused, clitest.Hilo(t, append(strings.Fields(command), "--redis", s.URL())...), "hilo seed NAME --max 0")
		}
		clitest.Must(t, "seed", "orders", "--max", "7", "--redis", s.URL())
		if got := clitest.Must(t, "next", "orders", "--redis", s.URL()); got != "orders/8\n" {
			t.Errorf("%q", got)
		}
		clitest.Must(t, "settings", "set", "--seeded-only=false", "--redis", s.URL())
		clitest.Must(t, "next", "people", "--redis", s.URL())
	})
}

func TestEnvironmentSetsServersAndOptions(t *testing.T) {
	t.Parallel()
	north, south, _ := clitest.Masters(t, func() *redistest.Server { return redistest.StartMini(t) })
	urls := fmt.Sprintf("north=%s south=%s", north.URL(), south.URL())
	r := clitest.HiloWith(t, map[string]string{"HILO_REDIS_URL": urls, "HILO_PREFER": "south"}, "next", "orders")
	if r.Code != exit.Done || r.Stdout != "orders/SouthServer/1\n" {
		t.Errorf("%+v", r)
	}
	r = clitest.HiloWith(t, map[string]string{"HILO_REDIS_URL": urls, "HILO_PREFER": "south"}, "next", "orders", "--prefer", "north")
	if r.Code != exit.Done || r.Stdout != "orders/NorthServer/1\n" {
		t.Errorf("a flag wins: %+v", r)
	}
}

func TestServerFlagsAreValidated(t *testing.T) {
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
		{"a gateway's time-out that is empty", []string{"serve", "--timeout", ""}, "--timeout is empty"},
		{"a gateway's tokens that are empty", []string{"serve", "--token-file", ""}, "--token-file is empty: give it a value, or remove it"},
		{"authorities of callers that are empty", []string{"serve", "--client-ca="}, "--client-ca is empty"},
		{"a certificate that is empty", []string{"serve", "--cert", "", "--key", ""}, "--cert is empty"},
		{"a password that is nowhere", []string{"list", "--password-file", ""}, "--password-file is empty"},
		{"a namespace of nothing", []string{"import", "--from-namespace", "", "x"}, "--from-namespace is empty"},
		{"two servers where one is worked on", []string{"seed", "orders", "--max", "1", "--redis", "a=embedded:", "--redis", "b=embedded:"}, "hilo seed uses one server, and 2 are named: choose one with --prefer, such as --prefer a"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			clitest.MustFail(t, exit.Usage, clitest.Hilo(t, test.args...), test.want)
		})
	}
	for _, flag := range append(base.GlobalFlags(), base.ServerFlags()...) {
		name := base.Variable(flag.Names()[0])
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clitest.MustFail(t, exit.Usage, clitest.HiloWith(t, map[string]string{name: "{{{"}, "next", "orders"), name)
		})
	}
}

func TestHomeOfIdentitiesMayBeEitherMaster(t *testing.T) {
	t.Parallel()
	clitest.EachStart(t, func(t *testing.T, start func(...string) *redistest.Server) {
		_, south, flags := clitest.Masters(t, func() *redistest.Server { return start() })
		for i, prefer := range []string{"north", "south", "south", "north"} {
			want := fmt.Sprintf("companies/%d\n", i+1)
			if got := clitest.Must(t, append(flags, "identity", "next", "companies", "--prefer", prefer)...); got != want {
				t.Errorf("preferring %s: %q, want %q", prefer, got, want)
			}
		}
		r := clitest.Hilo(t, "identity", "next", "companies", "--redis", south.URL())
		clitest.MustFail(t, exit.Refused, r, "is not the home of identities")
	})
}
