package pgtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func TestServersAnswerAreApartAndLeaveNothing(t *testing.T) {
	t.Parallel()
	psql, err := exec.LookPath("psql")
	if err != nil {
		redistest.Missing(t, "psql")
	}
	var dirs []string
	t.Cleanup(func() { // after what Start has to clean up
		for _, dir := range dirs {
			if _, err := os.Stat(dir); !os.IsNotExist(err) {
				t.Errorf("%s is still there: %v", dir, err)
			}
		}
	})
	one, two := Start(t), Start(t)
	dirs = append(dirs, one.dir, two.dir)

	run := func(s *Server, args ...string) string {
		command := exec.CommandContext(t.Context(), psql, append([]string{"--no-psqlrc", "-Atqc"}, args...)...)
		command.Env = append(os.Environ(), s.Environment()...)
		output, err := command.CombinedOutput()
		if err != nil {
			t.Errorf("psql %q: %v", args, err)
		}
		return string(output)
	}
	run(one, "create table only_here (id bigint)")
	const query = "select count(*) from pg_class where relname = 'only_here'"
	if got := run(one, query) + run(two, query) + run(two, query, one.URL()); got != "1\n0\n1\n" {
		t.Errorf("psql says %q of one server, the other, and the first by its URL", got)
	}
}

func TestNewestVersionWithBothProgramsIsUsed(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, path := range []string{"9/bin/initdb", "9/bin/postgres", "15/bin/initdb", "15/bin/postgres", "17/bin/initdb"} {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	got, err := firstWithBoth(newestFirst(root + "/*/bin"))
	if want := filepath.Join(root, "15", "bin"); got != want || err != nil {
		t.Errorf("found %q, %v, want %q", got, err, want)
	}
	if got, err := firstWithBoth(newestFirst(root + "/no/*/bin")); err == nil || !strings.Contains(err.Error(), "initdb") {
		t.Errorf("found %q, %v, want an error that says what is missing", got, err)
	}
}
