package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/allocator/pgtest"
	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// sqlProgram returns a function that runs a program with input, and returns what it prints and whether it succeeded.
func sqlProgram(t *testing.T, name string, environment ...string) func(input string, args ...string) (string, bool) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		redistest.Missing(t, name)
	}
	return func(input string, args ...string) (string, bool) {
		command := exec.CommandContext(t.Context(), path, args...)
		command.Env = append(os.Environ(), environment...)
		command.Stdin = strings.NewReader(input)
		output, err := command.CombinedOutput()
		return string(output), err == nil
	}
}

func sqlCase(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "sql", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestSeedQueryForPostgreSQL(t *testing.T) {
	t.Parallel()
	psql := sqlProgram(t, "psql", pgtest.Start(t).Environment()...)
	must := func(input string) {
		if output, ok := psql(input, "-Xq", "-v", "ON_ERROR_STOP=1"); !ok {
			t.Fatal(output)
		}
	}
	query := clitest.Must(t, "seed", "--sql", "postgresql")
	must(sqlCase(t, "postgresql.sql"))
	if got, ok := psql("", "-X", "--csv", "-c", query); !ok || got != "collection,max\nimported,11616\nimported_never,14\nvegetable,100\n" {
		t.Errorf("%s", got)
	}
	must(sqlCase(t, "postgresql_shapes.sql"))
	const want = `collection,max
MixedCase,0
Order Items,1
"We,ird""Name",7
child,0
dom,77
down,0
empty,0
hib,50
imported,20000
imported_never,14
late,9
parts,900
restarted,499
started,0
uses,12
uuids,0
vegetable,100
`
	got, ok := psql("", "-X", "--csv", "-c", query)
	if !ok || got != want {
		t.Errorf("%s", got)
	}
	r := clitest.HiloIn(t, got, "seed", "--file", "-", "--redis", "embedded:", "--skip", "Order Items", "--skip", `We,ird"Name`)
	if r.Code != exit.Done || !strings.Contains(r.Stdout, "15 counters: 15 new") {
		t.Errorf("%+v", r)
	}

	must(`create role weak login; grant usage on schema other, "Weird Schema" to weak;
		grant select on all tables in schema public, other, "Weird Schema" to weak;
		grant select on all sequences in schema public, other, "Weird Schema" to weak`)
	if got, ok := psql("", "-X", "-U", "weak", "--csv", "-c", query); !ok || got != want {
		t.Errorf("%s", got)
	}
	for _, test := range []struct{ by, undo, want string }{
		{"revoke select on imported from weak", "grant select on imported to weak", "permission denied for table imported"},
		{"revoke select on sequence vegetable_seq from weak", "grant select on sequence vegetable_seq to weak", "permission denied for sequence vegetable_seq"},
		{"alter table dom enable row level security", "alter table dom disable row level security", `row-level security policy for table "dom"`},
	} {
		must(test.by)
		if got, ok := psql("", "-X", "-U", "weak", "--csv", "-c", query); ok || !strings.Contains(got, test.want) || strings.Contains(got, "collection") {
			t.Errorf("%s: %s", test.by, got)
		}
		must(test.undo)
	}
}

func TestSeedQueryForSQLite(t *testing.T) {
	t.Parallel()
	sqlite := sqlProgram(t, "sqlite3")
	db := filepath.Join(t.TempDir(), "shop.db")
	if output, ok := sqlite(sqlCase(t, "sqlite.sql")+`
		create table "Order Items" (id integer primary key); insert into "Order Items" values (4);
		create table "We,ird""N'ame" ("i""d" bigint primary key); insert into "We,ird""N'ame" values (7);
		create table pair (a integer, b integer, primary key (a, b)); create table text (a text primary key);
		create table bare (id int primary key) without rowid;
		insert into users values (50, 'x'); delete from users where id = 50;`, db); !ok {
		t.Fatal(output)
	}
	run := func() string {
		query, ok := sqlite("", db, clitest.Must(t, "seed", "--sql", "sqlite"))
		got, done := sqlite(query, "-csv", "-header", db)
		if !ok || !done {
			t.Errorf("%s: %s", query, got)
		}
		return got
	}
	if got := run(); got != "collection,max\n\"Order Items\",4\n\"We,ird\"\"N'ame\",7\nbare,0\nneg,0\norders,3\nusers,50\n" {
		t.Errorf("%s", got)
	}
	var many strings.Builder // more than a compound SELECT may have
	for i := range 1000 {
		fmt.Fprintf(&many, "create table t%d (id integer primary key);\n", i)
	}
	if output, ok := sqlite("begin;"+many.String()+"commit;", db); !ok || strings.Count(run(), "\n") != 1007 {
		t.Errorf("%s", output)
	}
}

func TestSeedQueryUsesNoServer(t *testing.T) {
	t.Parallel()
	tests := []struct{ args, want string }{
		{"seed --sql oracle", `--sql is "oracle": must be postgresql or sqlite`},
		{"seed --sql sqlite --redis embedded:", "hilo seed uses no server; remove --redis"},
		{"seed --sql sqlite --max 3", "--sql and --max exclude each other"},
		{"seed --sql sqlite --dry-run", "--sql and --dry-run exclude each other"},
		{"seed --sql sqlite --skip x", "--sql and --skip exclude each other"},
		{"seed orders --sql sqlite", `"orders" is one too many`},
		{"seed --file f --sql sqlite", "--sql and --file exclude each other"},
	}
	for _, test := range tests {
		clitest.MustFail(t, exit.Usage, clitest.Hilo(t, strings.Fields(test.args)...), test.want)
	}
	if got := clitest.HiloWith(t, map[string]string{"HILO_REDIS_URL": "redis://no.example"}, "seed", "--sql", "sqlite"); got.Code != exit.Done {
		t.Errorf("%+v", got)
	}
}
