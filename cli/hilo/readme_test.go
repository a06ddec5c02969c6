package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/allocator/pgtest"
	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// TestMovingFromElsewhereRuns runs the commands of cli/MOVING.md, with the address of a server that answers as RavenDB does.
func TestMovingFromElsewhereRuns(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"bash", "curl", "jq", "sqlite3", "psql", "redis-cli"} {
		if _, err := exec.LookPath(tool); err != nil {
			redistest.Missing(t, tool)
		}
	}
	hilo := binary(t)
	raven := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.RequestURI() {
		case "/databases/Shop/docs?startsWith=Raven/HiLo/&pageSize=10000":
			fmt.Fprint(w, `{"Results":[{"Max":4000,"@metadata":{"@id":"Raven/Hilo/orders"}},{"Max":96,"@metadata":{"@id":"Raven/HiLo/people"}}]}`)
		case "/databases/Shop/debug/identities":
			fmt.Fprint(w, `{"companies|":17}`)
		default:
			t.Errorf("got the request %s, want one of the page", r.URL)
		}
	}))
	t.Cleanup(raven.Close)
	postgres := pgtest.Start(t).Environment()
	bash(t, t.TempDir(), postgres, `psql --quiet -c "create table receipts (id bigserial primary key); create table unused (id bigserial primary key)
		" -c "insert into receipts select nextval('receipts_id_seq') from generate_series(1, 77)
		" -c 'create table "Refunds" (number bigint generated always as identity (sequence name "any Name")); create sequence alone'  \
		-c 'insert into "Refunds" select from generate_series(1, 5)' -c "select nextval('alone')" >/dev/null`)

	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		dir, environment := t.TempDir(), append(slices.Clone(postgres), environmentOf(t, s, hilo)...)
		bash(t, dir, nil, "sqlite3 shop.db 'create table invoices (id integer primary key autoincrement); insert into invoices values (123)'")
		s.Client(t).Set(t.Context(), "counter:users", "42", 0)
		s.Client(t).Set(t.Context(), "counter:visits", "9007199254740993", 0)
		for _, heading := range []string{"From RavenDB", "From counters of INCR", "From a SQL database"} {
			block := shellBlock(t, "cli/MOVING.md", heading)
			bash(t, dir, environment, strings.NewReplacer("http://RAVENDB", raven.URL, "curl", "curl --silent --show-error").Replace(block))
		}
		const want = `{"kind":"export","version":3,"namespace":"Raven"}
{"kind":"prefix"}
{"kind":"hilo","collection":"invoices","max":123,"bare":true}
{"kind":"hilo","collection":"orders","max":4000,"bare":true}
{"kind":"hilo","collection":"people","max":96,"bare":true}
{"kind":"hilo","collection":"receipts","max":77,"bare":true}
{"kind":"hilo","collection":"Refunds","max":5,"bare":true}
{"kind":"hilo","collection":"unused","max":0}
{"kind":"hilo","collection":"users","max":42,"bare":true}
{"kind":"hilo","collection":"visits","max":"9007199254740993","bare":true}
{"kind":"identity","collection":"companies","max":17}
{"kind":"end","counters":9}
`
		if got := clitest.Lasting(bash(t, dir, environment, "hilo export")); got != want {
			t.Errorf("%s", got)
		}
	})
}

func TestMovingFromSnowflakeRuns(t *testing.T) {
	t.Parallel()
	block := shellBlock(t, "cli/MOVING.md", "From snowflake")
	hilo := binary(t)
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		if got := bash(t, t.TempDir(), environmentOf(t, s, hilo), block+"hilo next orders"); !strings.HasSuffix(got, "orders/1\n") {
			t.Errorf("got %q, want orders/1", got)
		}
	})
}

func TestMovingToAnotherServerRuns(t *testing.T) {
	t.Parallel()
	block := shellBlock(t, "cli/MOVING.md", "To another server")
	if _, err := exec.LookPath("redis-cli"); err != nil {
		redistest.Missing(t, "redis-cli")
	}
	hilo := binary(t)
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		other := redistest.StartMini(t)
		if err := other.Client(t).FlushAll(t.Context()).Err(); err != nil { // a new server
			t.Fatal(err)
		}
		environment := environmentOf(t, s, hilo)
		bash(t, t.TempDir(), environment, "hilo settings set NorthServer/; hilo seed orders --max 4000")
		block := strings.NewReplacer("redis-cli -h old.example", "redis-cli", "redis://old.example", s.URL(), "redis://new.example", other.URL()).Replace(block)
		if got := bash(t, t.TempDir(), environment, block); !strings.Contains(got, "NOREPLICAS") {
			t.Errorf("got %q, want a refusal of the old server", got)
		}
		if got := bash(t, t.TempDir(), environment, "hilo next orders --redis "+other.URL()); got != "orders/NorthServer/4001\n" {
			t.Errorf("got %q, want orders/NorthServer/4001", got)
		}
	})
}

func TestMovingAfterARestoredBackupRuns(t *testing.T) {
	t.Parallel()
	commands := strings.SplitAfter(shellBlock(t, "cli/MOVING.md", "After a restored backup"), "\n")
	hilo := binary(t)
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		for _, test := range []struct{ settings, then, want string }{
			{settings: "hilo settings set NorthServer/; hilo next orders", then: commands[0], want: "orders/NorthServer2/2\n"},
			{settings: "hilo settings clear --yes; hilo next orders", then: commands[1], want: "orders/5000000000\n"},
		} {
			environment := environmentOf(t, s, hilo)
			bash(t, t.TempDir(), environment, test.settings)
			bash(t, t.TempDir(), environment, test.then)
			if got := bash(t, t.TempDir(), environment, "hilo next orders"); got != test.want {
				t.Errorf("after %q: got %q, want %q", test.then, got, test.want)
			}
		}
	})
}

// TestReadmeOfANewServerRuns also shows what a server that makes no counters refuses.
func TestReadmeOfANewServerRuns(t *testing.T) {
	t.Parallel()
	block := strings.ReplaceAll(shellBlock(t, "cli/README.md", "A new server"), "hilo init", "hilo init --yes")
	hilo := binary(t)
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		if err := s.Client(t).FlushAll(t.Context()).Err(); err != nil { // a new server
			t.Fatal(err)
		}
		environment := environmentOf(t, s, hilo)
		bash(t, t.TempDir(), environment, block)
		if got := bash(t, t.TempDir(), environment, "hilo next orders; hilo next orders --namespace Billing; hilo next orders --namespace Shop"); got != strings.Repeat("orders/1\n", 3) {
			t.Errorf("got %q, want orders/1 of each namespace", got)
		}
		bash(t, t.TempDir(), environment, "hilo next invoices --namespace Billing; ! hilo next invoices --namespace Shop 2>/dev/null")
	})
}

func TestReadmeOfSeedingRuns(t *testing.T) {
	t.Parallel()
	seeding := shellBlock(t, "cli/README.md", "Seed")
	hilo := binary(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "counters.csv"), []byte("collection,max,kind\npeople,7,\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		s.Client(t).Set(t.Context(), "orders/NorthServer/5000", "", 0)
		bash(t, dir, environmentOf(t, s, hilo), seeding)
		if max := s.Client(t).HGet(t.Context(), "{Raven}/HiLo/orders", "Max").Val(); max != "5000" {
			t.Errorf("orders stands at %q", max)
		}
		if n := s.Client(t).Exists(t.Context(), "{Raven}/HiLo/people").Val(); n != 0 {
			t.Error("a dry run wrote")
		}
	})
}

func TestReadmeOfSettingsRuns(t *testing.T) {
	t.Parallel()
	settings := shellBlock(t, "cli/README.md", "Settings")
	hilo := binary(t)
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		other := redistest.StartMini(t)
		for _, one := range []*redistest.Server{s, other} { // new servers
			if err := one.Client(t).FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
		}
		block := strings.NewReplacer("redis://north.example", s.URL(), "redis://south.example", other.URL(), "hilo init", "hilo init --yes").Replace(settings)
		bash(t, t.TempDir(), environmentOf(t, s, hilo), block)
		if got := s.Client(t).HGetAll(t.Context(), "{Raven}/ServerPrefixForHilo").Val(); got["ServerPrefix"] != "NorthServer/" || got["Identities"] != "here" {
			t.Errorf("%v", got)
		}
	})
}

// TestReadmeOfRedisStateRuns also shows that the rights of its user are enough for a worker.
func TestReadmeOfRedisStateRuns(t *testing.T) {
	t.Parallel()
	block := shellBlock(t, "README.md", "What stands in Redis")
	if _, err := exec.LookPath("redis-cli"); err != nil {
		redistest.Missing(t, "redis-cli")
	}
	hilo := binary(t)
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		bash(t, t.TempDir(), environmentOf(t, s, hilo), block)
		worker := environmentOf(t, s, hilo, strings.Replace(s.URL(), "redis://", "redis://worker:secret@", 1))
		if got := bash(t, t.TempDir(), worker, "hilo next accounts"); got != "accounts/4001\n" {
			t.Errorf("%q", got)
		}
	})
}

// environmentOf returns variables with which hilo and redis-cli find a server by themselves. hilo uses another URL if one is
// passed.
func environmentOf(t *testing.T, s *redistest.Server, hilo string, url ...string) []string {
	t.Helper()
	host, port, err := net.SplitHostPort(s.HostPort())
	if err != nil {
		t.Fatal(err)
	}
	return []string{"HILO_REDIS_URL=" + append(url, s.URL())[0], "REDIS_HOST=" + host, "REDIS_PORT=" + port, "HILO=" + hilo}
}

// bash runs commands with that environment.
func bash(t *testing.T, dir string, environment []string, commands string) string {
	t.Helper()
	const here = `hilo() { "$HILO" "$@"; }; redis-cli() { command redis-cli -h "$REDIS_HOST" -p "$REDIS_PORT" "$@"; }; `
	command := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", here+commands)
	command.Dir = dir
	command.Env = append(os.Environ(), environment...)
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v", commands, err)
	}
	return string(output)
}

// shellBlock returns the commands that a section of a page shows, in one block.
func shellBlock(t *testing.T, page, heading string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("%s has no section %q", page, heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	parts := strings.Split(section, "```sh\n")
	if len(parts) != 2 {
		t.Fatalf("%s, %s: %d blocks, want 1", page, heading, len(parts)-1)
	}
	block, _, _ := strings.Cut(parts[1], "```")
	return block
}
