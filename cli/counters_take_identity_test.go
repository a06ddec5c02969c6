package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestIdentityNextCountsOn(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		steps := []struct {
			args []string
			want string
		}{
			{[]string{"companies"}, "companies/1\n"},
			{[]string{"companies|"}, "companies/2\n"},
			{[]string{"Companies", "--count", "2"}, "Companies/3\nCompanies/4\n"},
			{[]string{"companies", "--separator", ":"}, "companies:5\n"},
			{[]string{"orders", "--count", "2500"}, clitest.Lines(1, 2500)},
			{[]string{"orders"}, "orders/2501\n"},
			{[]string{"orders", "--namespace", "Other"}, "orders/1\n"},
		}
		s.Initialize("Other")
		for _, step := range steps {
			if got := clitest.Must(t, append([]string{"identity", "next", "--redis", s.URL()}, step.args...)...); got != step.want {
				t.Errorf("%q: %.80q, want %.80q", step.args, got, step.want)
			}
		}
	})
}

func TestIdentitiesCarryNeitherPrefixNorTag(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.Must(t, "settings", "set", "NorthServer/", "--tag", "A", "--identities", "--redis", s.URL())
		clitest.Must(t, "next", "companies", "--redis", s.URL()) // both is fine there
		if got := clitest.Must(t, "identity", "next", "companies", "--redis", s.URL()); got != "companies/1\n" {
			t.Errorf("%q", got)
		}
	})
}

func TestIdentityNextAsJSON(t *testing.T) {
	t.Parallel()
	for _, count := range []int{1, 2, 2001} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			t.Parallel()
			got := clitest.Decode[[]string](t, clitest.Must(t, "identity", "next", "companies", "--count", fmt.Sprint(count), "--redis", "embedded:", "--output", "json"))
			if len(got) != count || got[0] != "companies/1" || got[count-1] != fmt.Sprintf("companies/%d", count) {
				t.Errorf("%d ids, %q", len(got), got[:1])
			}
		})
	}
}

func TestIdentityAndCollectionOfOneNameAreRefused(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.Must(t, "next", "orders", "--redis", s.URL())
		clitest.Must(t, "identity", "next", "companies", "--redis", s.URL())
		for _, command := range []string{
			"identity next orders", "identity seed orders --value 3", "id orders|", "next companies", "seed companies --max 3",
		} {
			r := clitest.Hilo(t, append(strings.Fields(command), "--redis", s.URL())...)
			clitest.MustFail(t, exit.Refused, r, "{Raven}/HiLo/", "{Raven}/Identities/", "choose another name")
		}
	})
}

func TestIdentityNextIssuesTheRestAndThenReportsExhaustion(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.Must(t, "identity", "seed", "companies", "--value", "9223372036854775805", "--redis", s.URL())
		r := clitest.Hilo(t, "identity", "next", "companies", "--count", "10", "--redis", s.URL())
		if r.Stdout != "companies/9223372036854775806\ncompanies/9223372036854775807\n" {
			t.Errorf("stdout %q", r.Stdout)
		}
		r.Stdout = ""
		clitest.MustFail(t, exit.Refused, r, "hilo: after 2 ids: companies: exhausted", "continue with another name")
		clitest.MustFail(t, exit.Refused, clitest.Hilo(t, "identity", "next", "companies", "--redis", s.URL()), "hilo: companies: exhausted")
	})
}

func TestIdentityNextKeepsItsWarningsAboutLostWrites(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.Must(t, "identity", "next", "companies", "--redis", s.URL())
		if err := s.Client(t).HSet(t.Context(), "{Raven}/Identities/companies", "Origin", strings.Repeat("f", 40)).Err(); err != nil {
			t.Fatal(err)
		}
		r := clitest.Hilo(t, "identity", "next", "companies", "--redis", s.URL())
		if r.Code != exit.Done || !strings.Contains(r.Stderr, "jump") {
			t.Errorf("%+v", r)
		}
	})
}

// With another separator a name may contain a slash, in every command.
func TestNamesKeepToTheSeparator(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		steps := []struct{ args, want string }{
			{"seed a/b --max 5", "a/b: Max is 5\n"},
			{"next a/b", "a/b:6\n"},
			{"inspect a/b", "HGETALL '{Raven}/HiLo/a/b'\n"},
			{"list", "a/b           6       1      0"},
			{"identity seed c/d| --value 5", "c/d: Value is 5\n"},
			{"identity next c/d", "c/d:6\n"},
			{"identity list", "c/d       6      0"},
			{"id c/d|", "c/d:7\n"},
		}
		for _, step := range steps {
			if got := clitest.Must(t, append(strings.Fields(step.args), "--separator", ":", "--redis", s.URL())...); !strings.Contains(got, step.want) {
				t.Errorf("%s: %q, want %q", step.args, got, step.want)
			}
		}
	})
}
