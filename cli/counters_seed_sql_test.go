package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	checkKeysForPostgreSQL(t, psql, must)
	must("drop schema public cascade; create schema public; grant usage on schema public to public")
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

// startMariaDB starts a MariaDB that ends with the test, and returns the arguments by which its clients reach it as root.
func startMariaDB(t *testing.T) []string {
	t.Helper()
	install, installErr := exec.LookPath("mariadb-install-db")
	server, err := exec.LookPath("mariadbd")
	if err = errors.Join(installErr, err); err != nil {
		redistest.Missing(t, err.Error())
	}
	dir, err := os.MkdirTemp("", "hilo") // not t.TempDir, because the path of a socket has at most about 104 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	data, socket := "--datadir="+filepath.Join(dir, "data"), "--socket="+filepath.Join(dir, "s")
	created := exec.CommandContext(t.Context(), install, "--no-defaults", data, "--user="+me.Username,
		"--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve")
	if output, err := created.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	running := exec.Command(server, "--no-defaults", data, socket, "--user="+me.Username, "--skip-networking", "--innodb-flush-log-at-trx-commit=0")
	gone, err := redistest.StartChild(running)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = running.Process.Kill()
		<-gone
	})
	mysql := sqlProgram(t, "mariadb")
	for output, ok := "", false; !ok; {
		select {
		case <-gone:
			t.Fatalf("MariaDB has ended: %s", output)
		case <-time.After(20 * time.Millisecond):
			output, ok = mysql("select 1", "--no-defaults", socket, "--user=root")
		}
	}
	return []string{"--no-defaults", socket}
}

func TestSeedQueryForMySQL(t *testing.T) {
	t.Parallel()
	login := startMariaDB(t)
	mysql := sqlProgram(t, "mariadb")
	as := func(user, input string) (string, bool) {
		return mysql(input, append(login, "--user="+user, "--batch", "--raw")...)
	}
	must := func(input string) string {
		output, ok := as("root", input)
		if !ok {
			t.Fatal(output)
		}
		return output
	}
	must(strings.ReplaceAll(sqlCase(t, "mysql.sql"), "set information_schema_stats_expiry=0;", "")) // which MariaDB does not have
	must(sqlCase(t, "mysql_shapes.sql"))
	_, next, _ := strings.Cut(must("select auto_increment - 1 from information_schema.tables where table_schema = 'shop' and table_name = 'users'"), "\n")
	want := `collection,max
Größe,0
Order Items,2
Orders2,9
"We,ird""Na` + "`" + `me\\x",8
big,18446744073709551613
empty,0
gone,300
grosse,0
größe,3
neg,0
nev,0
orders,70000
parts,41
seqd,100
users,` + next + `uuids,0
vers,6
`
	query := clitest.Must(t, "seed", "--sql", "mysql")
	got := must(query)
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	r := clitest.HiloIn(t, got, "seed", "--file", "-", "--redis", "embedded:", "--skip", "Order Items", "--skip", `We,ird"Na`+"`"+`me\\x`)
	if r.Code != exit.Usage || !strings.Contains(r.Stderr, "18446744073709551613") {
		t.Errorf("%+v", r)
	}
	if got, ok := as("weak", query); ok || !strings.Contains(got, "denied") || !strings.Contains(got, "`orders`") || strings.Contains(got, "collection") {
		t.Errorf("%s", got)
	}
	must("drop database shop; drop database other")
	checkKeysForMySQL(t, as)
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
		{"seed --sql oracle", `--sql is "oracle": must be mysql, postgresql or sqlite`},
		{"seed --sql sqlite --redis embedded:", "hilo: --sql uses no server; remove --redis"},
		{"seed --sql sqlite --max 3", "--sql and --max exclude each other"},
		{"seed --sql sqlite --dry-run", "--sql and --dry-run exclude each other"},
		{"seed --sql sqlite --skip x", "--sql and --skip exclude each other"},
		{"seed orders --sql sqlite", `COLLECTION, which is "orders", and --sql exclude each other`},
		{"seed --file f --sql sqlite", "--sql and --file exclude each other"},
	}
	for _, test := range tests {
		clitest.MustFail(t, exit.Usage, clitest.Hilo(t, strings.Fields(test.args)...), test.want)
	}
	if got := clitest.HiloWith(t, map[string]string{"HILO_REDIS_URL": "redis://no.example"}, "seed", "--sql", "sqlite"); got.Code != exit.Done {
		t.Errorf("%+v", got)
	}
}
