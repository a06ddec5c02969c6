package cli

import (
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestIdentityListShowsAllIdentitiesByName(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		if got := clitest.Must(t, "identity", "list", "--redis", s.URL()); got != "NAME  VALUE  JUMPS  2^31-1  2^53-1  2^63-1\n" {
			t.Errorf("none: %q", got)
		}
		if got := clitest.Must(t, "identity", "list", "--output", "json", "--redis", s.URL()); got != "[]\n" {
			t.Errorf("none as JSON: %q", got)
		}
		clitest.Must(t, "identity", "seed", "people", "--value", "9223372036854775807", "--redis", s.URL())
		clitest.Must(t, "identity", "next", "Companies|", "--redis", s.URL())
		clitest.Must(t, "next", "orders", "--redis", s.URL())
		want := "" +
			"NAME                     VALUE  JUMPS  2^31-1  2^53-1  2^63-1\n" +
			"Companies                    1      0   <0.1%   <0.1%   <0.1%\n" +
			"people     9223372036854775807      0" + strings.Repeat("    past", 3) + "\n"
		if got := clitest.Must(t, "identity", "list", "--redis", s.URL()); got != want {
			t.Errorf("%s", got)
		}
		got := clitest.Decode[[]listedIdentity](t, clitest.Must(t, "identity", "list", "--output=json", "--redis", s.URL()))
		if len(got) != 2 || got[0].Name != "Companies" || got[0].Value != 1 || got[1].Value != 9223372036854775807 {
			t.Errorf("%+v", got)
		}
	})
}

func TestIdentityListShowsTheRestBesideACorruptOne(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.Must(t, "identity", "next", "companies", "--redis", s.URL())
		if err := s.Client(t).HSet(t.Context(), "{Raven}/Identities/broken", "Value", "01").Err(); err != nil {
			t.Fatal(err)
		}
		r := clitest.Hilo(t, "identity", "list", "--redis", s.URL())
		if !strings.Contains(r.Stdout, "companies") {
			t.Errorf("stdout %q", r.Stdout)
		}
		r.Stdout = ""
		clitest.MustFail(t, exit.Failed, r, "{Raven}/Identities/broken", `"01"`)
	})
}
