package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

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
			{[]string{"orders", "--count", "2500"}, lines(1, 2500)},
			{[]string{"orders"}, "orders/2501\n"},
			{[]string{"orders", "--namespace", "Other"}, "orders/1\n"},
		}
		for _, step := range steps {
			if got := must(t, append([]string{"identity", "next", "--redis", s.URL()}, step.args...)...); got != step.want {
				t.Errorf("%q: %.80q, want %.80q", step.args, got, step.want)
			}
		}
	})
}

func TestIdentitiesCarryNeitherPrefixNorTag(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		must(t, "prefix", "set", "NorthServer/", "--tag", "A", "--redis", s.URL())
		must(t, "next", "companies", "--redis", s.URL()) // both is fine there
		if got := must(t, "identity", "next", "companies", "--redis", s.URL()); got != "companies/1\n" {
			t.Errorf("%q", got)
		}
	})
}

func TestIdentityNextAsJSON(t *testing.T) {
	t.Parallel()
	for _, count := range []int{1, 2, 2001} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			t.Parallel()
			got := decode[[]string](t, must(t, "identity", "next", "companies", "--count", fmt.Sprint(count), "--redis", "embedded:", "--output", "json"))
			if len(got) != count || got[0] != "companies/1" || got[count-1] != fmt.Sprintf("companies/%d", count) {
				t.Errorf("%d ids, %q", len(got), got[:1])
			}
		})
	}
}

func TestAnIdentityAndACollectionOfOneNameAreRefused(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		must(t, "next", "orders", "--redis", s.URL())
		must(t, "identity", "next", "companies", "--redis", s.URL())
		for _, command := range []string{
			"identity next orders", "identity seed orders --value 3", "id orders|", "next companies", "seed companies --max 3",
		} {
			r := hilo(t, append(strings.Fields(command), "--redis", s.URL())...)
			mustFail(t, exitRefused, r, "{Raven}/HiLo/", "{Raven}/Identities/", "give the server a prefix with hilo prefix set")
		}
	})
}

func TestIdentityNextGivesWhatIsLeftAndThenSaysThatNothingIs(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		must(t, "identity", "seed", "companies", "--value", "9223372036854775805", "--redis", s.URL())
		r := hilo(t, "identity", "next", "companies", "--count", "10", "--redis", s.URL())
		if r.stdout != "companies/9223372036854775806\ncompanies/9223372036854775807\n" {
			t.Errorf("stdout %q", r.stdout)
		}
		r.stdout = ""
		mustFail(t, exitRefused, r, "hilo: after 2 ids: companies: exhausted", "go on with another name")
		mustFail(t, exitRefused, hilo(t, "identity", "next", "companies", "--redis", s.URL()), "hilo: companies: exhausted")
	})
}

func TestIdentityNextWhoseRedisGoesAwayKeepsWhatItPrinted(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"text", "json"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			s := redistest.StartMini(t)
			var stdout, stderr bytes.Buffer
			out := writer(func(p []byte) (int, error) {
				s.Kill() // at the first chunk
				return stdout.Write(p)
			})
			err := writer(stderr.Write)
			code := runTo(t.Context(), &out, &err, "identity", "next", "companies", "--count", "5000", "--timeout", "1s", "--redis", s.URL(), "--output", format)
			if format == "json" {
				decode[[]string](t, stdout.String())
			}
			if ids := strings.Count(stdout.String(), "companies/"); ids != 1000 {
				t.Errorf("%d ids", ids)
			}
			if want := "hilo: after 1000 ids: no Redis answers at " + s.Addr(); code != exitUnavailable || !strings.HasPrefix(stderr.String(), want) {
				t.Errorf("exit %d, stderr %q", code, stderr.String())
			}
		})
	}
}

func TestIdentityNextKeepsItsWarningsAboutLostWrites(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		must(t, "identity", "next", "companies", "--redis", s.URL())
		if err := s.Client(t).HSet(t.Context(), "{Raven}/Identities/companies", "Origin", strings.Repeat("f", 40)).Err(); err != nil {
			t.Fatal(err)
		}
		r := hilo(t, "identity", "next", "companies", "--redis", s.URL())
		if r.code != exitDone || !strings.Contains(r.stderr, "jump") {
			t.Errorf("%+v", r)
		}
	})
}

func TestIdentitySeedRaisesAndLowersOnlyWithForce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		steps := []struct{ args, want, after string }{
			{"companies --value 1994", "companies: Value is 1994\n", "companies/1995\n"},
			{"companies| --value 17", "companies: Value stays 1995, above 17; --force lowers it\n", "companies/1996\n"},
			{"--force --value 17 companies|", "companies: Value is 17\n", "companies/18\n"},
			{"companies --value=0 --force", "companies: Value is 0\n", "companies/1\n"},
			{"companies --value 0", "companies: Value stays 1, above 0; --force lowers it\n", "companies/2\n"},
		}
		for _, step := range steps {
			args := append([]string{"identity", "seed", "--redis", s.URL()}, strings.Fields(step.args)...)
			if got := must(t, args...); got != step.want {
				t.Errorf("seed %s: %q, want %q", step.args, got, step.want)
			}
			if got := must(t, "identity", "next", "companies", "--redis", s.URL()); got != step.after {
				t.Errorf("after seed %s: %q, want %q", step.args, got, step.after)
			}
		}
	})
}

func TestIdentitySeedAsJSON(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		const most = 9223372036854775807
		seed := func(value string) seededIdentity {
			return decode[seededIdentity](t, must(t, "identity", "seed", "companies|", "--value", value, "--output", "json", "--redis", s.URL()))
		}
		for _, got := range []struct{ is, want seededIdentity }{
			{seed("9223372036854775807"), seededIdentity{"companies", most, most, true}},
			{seed("5"), seededIdentity{"companies", most, 5, false}},
		} {
			if got.is != got.want {
				t.Errorf("%+v, want %+v", got.is, got.want)
			}
		}
	})
}

func TestIdentityListShowsAllIdentitiesByName(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		if got := must(t, "identity", "list", "--redis", s.URL()); got != "NAME  VALUE  EPOCH  2^31-1  2^53-1  2^63-1\n" {
			t.Errorf("none: %q", got)
		}
		if got := must(t, "identity", "list", "--output", "json", "--redis", s.URL()); got != "[]\n" {
			t.Errorf("none as JSON: %q", got)
		}
		must(t, "identity", "seed", "people", "--value", "9223372036854775807", "--redis", s.URL())
		must(t, "identity", "next", "Companies|", "--redis", s.URL())
		must(t, "next", "orders", "--redis", s.URL())
		want := "" +
			"NAME                     VALUE  EPOCH  2^31-1  2^53-1  2^63-1\n" +
			"Companies                    1      0   <0.1%   <0.1%   <0.1%\n" +
			"people     9223372036854775807      0" + strings.Repeat("    past", 3) + "\n"
		if got := must(t, "identity", "list", "--redis", s.URL()); got != want {
			t.Errorf("%s", got)
		}
		got := decode[[]listedIdentity](t, must(t, "identity", "list", "--output=json", "--redis", s.URL()))
		if len(got) != 2 || got[0].Name != "Companies" || got[0].Value != 1 || got[1].Value != 9223372036854775807 {
			t.Errorf("%+v", got)
		}
	})
}

func TestIdentityListShowsTheRestBesideACorruptOne(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		must(t, "identity", "next", "companies", "--redis", s.URL())
		if err := s.Client(t).HSet(t.Context(), "{Raven}/Identities/broken", "Value", "01").Err(); err != nil {
			t.Fatal(err)
		}
		r := hilo(t, "identity", "list", "--redis", s.URL())
		if !strings.Contains(r.stdout, "companies") {
			t.Errorf("stdout %q", r.stdout)
		}
		r.stdout = ""
		mustFail(t, exitFailed, r, "{Raven}/Identities/broken", `"01"`)
	})
}

// TestNamesKeepToTheSeparator: with another separator a name may hold a slash, in every command alike.
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
			if got := must(t, append(strings.Fields(step.args), "--separator", ":", "--redis", s.URL())...); !strings.Contains(got, step.want) {
				t.Errorf("%s: %q, want %q", step.args, got, step.want)
			}
		}
	})
}
