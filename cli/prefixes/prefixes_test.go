package prefixes

import (
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestPrefixSetReplacesWhatIsNamedAndKeepsWhatIsNot(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		steps := []struct {
			args []string
			want shownPrefix
		}{
			{[]string{"get"}, shownPrefix{"", "", false, "orders/1"}},
			{[]string{"set", "NorthServer/"}, shownPrefix{"NorthServer/", "", false, "orders/NorthServer/1"}},
			{[]string{"set", "--tag", "A"}, shownPrefix{"NorthServer/", "A", false, "orders/NorthServer/1-A"}},
			{[]string{"set", "South,"}, shownPrefix{"South,", "A", false, "orders/South,1-A"}},
			{[]string{"set", ""}, shownPrefix{"", "A", false, "orders/1-A"}},
			{[]string{"set", "North/", "--tag", ""}, shownPrefix{"North/", "", false, "orders/North/1"}},
			{[]string{"set", "--tag", "B", "X/"}, shownPrefix{"X/", "B", false, "orders/X/1-B"}},
			{[]string{"get"}, shownPrefix{"X/", "B", false, "orders/X/1-B"}},
			{[]string{"set", "--identities"}, shownPrefix{"X/", "B", true, "orders/X/1-B"}},
			{[]string{"set", "Y/", "--tag", "C"}, shownPrefix{"Y/", "C", true, "orders/Y/1-C"}},
			{[]string{"get"}, shownPrefix{"Y/", "C", true, "orders/Y/1-C"}},
			{[]string{"set", "--identities=false"}, shownPrefix{"Y/", "C", false, "orders/Y/1-C"}},
			{[]string{"set", "", "--tag", "", "--identities"}, shownPrefix{"", "", true, "orders/1"}},
			{[]string{"clear"}, shownPrefix{"", "", false, "orders/1"}},
			{[]string{"get"}, shownPrefix{"", "", false, "orders/1"}},
		}
		for _, step := range steps {
			args := append([]string{"prefix", "--redis", s.URL(), "--output", "json"}, step.args...)
			if got := clitest.Decode[shownPrefix](t, clitest.Must(t, args...)); got != step.want {
				t.Errorf("%q: %+v, want %+v", step.args, got, step.want)
			}
		}
		const want = "prefix:       none\ntag:          none\nidentifiers:  orders/1\nidentities:   here, as long as it is the only server\n"
		if got := clitest.Must(t, "prefix", "get", "--redis", s.URL()); got != want {
			t.Errorf("%q", got)
		}
		for home, want := range map[string]string{"--identities": "\nidentities:   here\n", "--identities=false": "\nidentities:   elsewhere\n"} {
			if got := clitest.Must(t, "prefix", "set", "North/", home, "--redis", s.URL()); !strings.HasSuffix(got, want) {
				t.Errorf("%s: %q", home, got)
			}
		}
	})
}

// TestIdentitiesComeFromTheHomeThatIsSet: each answer of the commands that use one changes with the key.
func TestIdentitiesComeFromTheHomeThatIsSet(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		next := func() clitest.Result { return clitest.Hilo(t, "identity", "next", "companies", "--redis", s.URL()) }
		clitest.Must(t, "prefix", "set", "North/", "--redis", s.URL())
		clitest.MustFail(t, exit.Refused, next(), "does not say that it is the home of identities", "make one so with hilo prefix set --identities")
		clitest.Must(t, "prefix", "set", "--identities", "--redis", s.URL())
		if r := next(); r.Stdout != "companies/1\n" {
			t.Errorf("%+v", r)
		}
		clitest.Must(t, "prefix", "set", "--identities=false", "--redis", s.URL())
		clitest.MustFail(t, exit.Refused, next(), "does not say that it is the home of identities")
	})
}
