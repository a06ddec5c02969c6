package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestListAndInspectShowAllServers(t *testing.T) {
	t.Parallel()
	clitest.EachStart(t, func(t *testing.T, start func(...string) *redistest.Server) {
		north, south, flags := clitest.Masters(t, func() *redistest.Server { return start() })
		clitest.Must(t, "seed", "orders", "--max", "7", "--redis", north.URL())
		clitest.Must(t, "seed", "orders", "--max", "9", "--redis", south.URL())
		clitest.Must(t, "seed", "users", "--max", "1", "--redis", south.URL())
		clitest.Must(t, "identity", "seed", "companies", "--value", "3", "--redis", north.URL())
		run := func(command string) string { return clitest.Must(t, append(flags, strings.Fields(command)...)...) }
		want := "" +
			"COLLECTION  SERVER  MAX  RANGES  JUMPS  2^31-1  2^53-1  2^63-1\n" +
			"orders      north     7       0      0   <0.1%   <0.1%   <0.1%\n" +
			"orders      south     9       0      0   <0.1%   <0.1%   <0.1%\n" +
			"users       south     1       0      0   <0.1%   <0.1%   <0.1%\n"
		if got := run("list"); got != want {
			t.Errorf("list: got\n%swant\n%s", got, want)
		}
		if got := run("list --sort max"); strings.Index(got, "south     9") > strings.Index(got, "north     7") {
			t.Errorf("list --sort max: got\n%s", got)
		}
		rows := clitest.Decode[[]listed](t, run("list --output json"))
		if len(rows) != 3 || rows[0].Server != "north" || rows[0].Max != 7 || rows[1].Server != "south" || rows[1].Max != 9 {
			t.Errorf("list: got JSON %+v", rows)
		}
		if got := clitest.Decode[[]listedIdentity](t, run("identity list --output json")); len(got) != 1 || got[0].Server != "north" || got[0].Value != 3 {
			t.Errorf("identity list: got JSON %+v", got)
		}
		if got := clitest.Decode[[]inspected](t, run("inspect orders --output json")); len(got) != 2 || got[0].Server != "north" || got[1].Server != "south" || got[1].Max != 9 {
			t.Errorf("inspect: got JSON %+v", got)
		}
		if got := run("inspect orders"); !strings.Contains(got, "server:      north\n") || !strings.Contains(got, "\n\nserver:      south\n") {
			t.Errorf("inspect: got %s", got)
		}
		r := clitest.Hilo(t, append(flags, "inspect", "users")...)
		if r.Code != exit.Done || strings.Contains(r.Stdout, "north") || !strings.Contains(r.Stdout, "south") || !strings.HasPrefix(r.Stderr, `north: there is no counter for "users"`) {
			t.Errorf("inspect of a counter at one of them: got %+v", r)
		}
		clitest.MustFail(t, exit.Refused, clitest.Hilo(t, append(flags, "inspect", "none")...), `north: there is no counter for "none"`, `south: there is no`)

		north.Kill()
		for _, command := range []string{"list", "inspect orders"} {
			r := clitest.Hilo(t, append(flags, strings.Fields(command)...)...)
			if r.Code != exit.Unavailable || !strings.Contains(r.Stdout, "south") || !strings.HasPrefix(r.Stderr, "hilo: north: no Redis answers at ") {
				t.Errorf("%s with north down: got %+v", command, r)
			}
		}
		south.Kill()
		clitest.MustFail(t, exit.Unavailable, clitest.Hilo(t, append(flags, "list")...), "north: no Redis answers at ", "south: no Redis answers at ")
	})
}

func TestPreferChoosesTheServerThatIsChanged(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		flags := []string{"--redis", "north=redis://127.0.0.1:1", "--redis", "south=" + s.URL()}
		for _, command := range []string{
			"seed orders --max 7", "identity seed companies --value 3", "settings set South/ --identities --yes", "settings get", "export", "settings clear --yes",
		} {
			args := slices.Concat(flags, strings.Fields(command))
			clitest.MustFail(t, exit.Usage, clitest.Hilo(t, args...), "uses one server, and 2 are named: choose one with --prefer, such as --prefer north")
			clitest.MustFail(t, exit.Usage, clitest.Hilo(t, append(args, "--prefer", "west")...), `--prefer is "west": must be one of the servers`)
			clitest.Must(t, append(args, "--prefer", "south")...)
			if r := clitest.HiloWith(t, map[string]string{"HILO_PREFER": "south"}, args...); r.Code != exit.Done {
				t.Errorf("%s with $HILO_PREFER: got %+v", command, r)
			}
		}
		if got := clitest.Must(t, "inspect", "orders", "--redis", s.URL()); !strings.Contains(got, "7") {
			t.Errorf("got %s", got)
		}
	})
}
