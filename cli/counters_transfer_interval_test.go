package cli

import (
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// exportOf returns an export of a server with settings, as JSON fields, and one counter.
func exportOf(settings string) string {
	return `{"kind":"export","version":2,"namespace":"Raven"}` + "\n" + `{"kind":"prefix"` + settings + "}\n" +
		`{"kind":"hilo","collection":"orders","max":50}` + "\n" + `{"kind":"end","counters":1}` + "\n"
}

// An import that removed the interval would let the server issue the numbers of the other master.
func TestImportKeepsTheIntervalOfTheServer(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, set, file, flags, min, max string }{
		{"of a file without one", "--max-value 1000000000000", "", "", "", "1000000000000"},
		{"of a file with the same one", "--max-value 1000000000000", `,"minValue":1,"maxValue":1000000000000`, "", "", "1000000000000"},
		{"of the home of identities", "--identities --min-value 20 --max-value 1000000000000", `,"identities":true`, "", "20", "1000000000000"},
		{"and takes the prefix", "--max-value 1000000000000", `,"serverPrefix":"North/","identities":true`, "", "", "1000000000000"},
		{"where --prefix take names the file's", "South/ --max-value 1000000000000", `,"serverPrefix":"North/"`, "--prefix take", "", "1000000000000"},
		{"where --prefix keep names the server's", "South/ --max-value 1000000000000", `,"serverPrefix":"North/"`, "--prefix keep", "", "1000000000000"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				clitest.Must(t, append(strings.Fields("settings set --redis "+s.URL()), strings.Fields(test.set)...)...)
				args := append(strings.Fields("import --redis "+s.URL()), strings.Fields(test.flags)...)
				if r := clitest.HiloIn(t, exportOf(test.file), args...); r.Code != exit.Done {
					t.Errorf("%+v", r)
				}
				got := s.Client(t).HGetAll(t.Context(), "{Raven}/ServerPrefixForHilo").Val()
				if got["MinValue"] != test.min || got["MaxValue"] != test.max {
					t.Errorf("MinValue %q and MaxValue %q, want %q and %q", got["MinValue"], got["MaxValue"], test.min, test.max)
				}
			})
		})
	}
}

func TestImportRefusesAnIntervalThatTheServerDoesNotHave(t *testing.T) {
	t.Parallel()
	const lower = `,"maxValue":1000000000000`
	tests := []struct{ name, set, file, flags, want string }{
		{
			"another one", "--min-value 1000000000001", lower, "",
			"numbers 1 to 1000000000000, and this one 1000000000001 to 9223372036854775807: nothing was written; " +
				"first set that of the file with hilo settings set --min-value 1 --max-value 1000000000000",
		},
		{"a part of it", "--min-value 20 --max-value 1000000000000", lower, "", "hilo settings set --min-value 1 --max-value 1000000000000"},
		{"another one and the file's prefix", "South/ --min-value 7", lower, "--prefix take", "hilo settings set --min-value 1"},
		{"another one and the server's prefix", "South/ --min-value 7", lower, "--prefix keep", "hilo settings set --min-value 1"},
		{"a server in use whose identities would end", "", lower, "", "hilo settings set --min-value 1 --max-value 1000000000000"},
		{"a server in use without one and without its home", "", `,"identities":true` + lower, "", "hilo settings set --min-value 1 --max-value 1000000000000"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				if test.set != "" {
					clitest.Must(t, append(strings.Fields("settings set --redis "+s.URL()), strings.Fields(test.set)...)...)
				}
				clitest.Must(t, "seed", "people", "--max", "5", "--redis", s.URL())
				before := clitest.Everything(t, s.Client(t))
				for _, dry := range []string{"", "--dry-run"} {
					args := append(strings.Fields("import --redis "+s.URL()), strings.Fields(test.flags+" "+dry)...)
					clitest.MustFail(t, exit.Refused, clitest.HiloIn(t, exportOf(test.file), args...), test.want)
				}
				clitest.WantUnchanged(t, s.Client(t), before)
			})
		})
	}
}

func TestImportSetsTheIntervalOfTheFile(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		for _, settings := range []string{`,"minValue":20,"maxValue":1000000000000`, `,"identities":true,"minValue":20,"maxValue":1000000000000`} {
			s.Client(t).FlushAll(t.Context())
			r := clitest.HiloIn(t, exportOf(settings), "import", "--redis", s.URL())
			if r.Code != exit.Done || !strings.Contains(r.Stdout, "its numbers are now 20 to 1000000000000\n") {
				t.Errorf("%+v", r)
			}
			got := s.Client(t).HGetAll(t.Context(), "{Raven}/ServerPrefixForHilo").Val()
			if got["MinValue"] != "20" || got["MaxValue"] != "1000000000000" {
				t.Errorf("%v", got)
			}
		}
	})
}

// The home of identities stays the home, so that nothing ends.
func TestImportSetsTheIntervalOfAHomeInUse(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.Must(t, "settings", "set", "--identities", "--redis", s.URL())
		clitest.Must(t, "identity", "seed", "companies", "--value", "5", "--redis", s.URL())
		r := clitest.HiloIn(t, exportOf(`,"identities":true,"maxValue":1000000000000`), "import", "--redis", s.URL())
		if r.Code != exit.Done || !strings.Contains(r.Stdout, "its numbers are now 1 to 1000000000000\n") {
			t.Errorf("%+v", r)
		}
		if got := clitest.Must(t, "identity", "next", "companies", "--redis", s.URL()); got != "companies/6\n" {
			t.Errorf("got %q, want companies/6", got)
		}
	})
}
