package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// TestWhatTheReadmeShowsOfComingFromElsewhereRuns takes the commands from the README and runs them as they stand.
func TestWhatTheReadmeShowsOfComingFromElsewhereRuns(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"bash", "jq", "sqlite3", "redis-cli"} {
		if _, err := exec.LookPath(tool); err != nil {
			redistest.Missing(t, tool)
		}
	}
	hilo := binary(t)
	dir := t.TempDir()
	for name, content := range map[string]string{
		"hilo.json":       `{"Results":[{"Max":4000,"@metadata":{"@id":"Raven/HiLo/orders"}},{"Max":96,"@metadata":{"@id":"Raven/HiLo/people"}}]}`,
		"identities.json": `{"companies|":17}`,
		"shop.sql":        "create table invoices (id integer primary key autoincrement); insert into invoices values (123);",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	bash(t, dir, nil, "sqlite3 shop.db < shop.sql")

	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		host, port, err := net.SplitHostPort(s.HostPort())
		if err != nil {
			t.Fatal(err)
		}
		environment := []string{"HILO_REDIS_URL=" + s.URL(), "REDIS_HOST=" + host, "REDIS_PORT=" + port, "HILO=" + hilo}
		s.Client(t).Set(t.Context(), "counter:users", "42", 0)
		s.Client(t).Set(t.Context(), "counter:visits", "9007199254740993", 0)
		for _, block := range shellBlocks(t) {
			if strings.HasPrefix(block, "psql ") { // needs a PostgreSQL
				continue
			}
			bash(t, dir, environment, block)
		}
		const want = `{"kind":"export","version":1,"namespace":"Raven"}
{"kind":"prefix"}
{"kind":"hilo","collection":"invoices","max":123}
{"kind":"hilo","collection":"orders","max":4000}
{"kind":"hilo","collection":"people","max":96}
{"kind":"hilo","collection":"users","max":42}
{"kind":"hilo","collection":"visits","max":9007199254740993}
{"kind":"identity","collection":"companies","max":17}
{"kind":"end","counters":6}
`
		if got := bash(t, dir, environment, "hilo export"); got != want {
			t.Errorf("%s", got)
		}
	})
}

// bash runs commands with the server as the one that hilo and redis-cli find by themselves.
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

// shellBlocks are the commands that the README shows for those who come from elsewhere.
func shellBlocks(t *testing.T) []string {
	t.Helper()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(readme), "\n## Come from elsewhere\n")
	if !found {
		t.Fatal("the README has no such section")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var blocks []string
	for _, part := range strings.Split(section, "```sh\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		blocks = append(blocks, block)
	}
	if len(blocks) != 4 {
		t.Fatalf("%d blocks", len(blocks))
	}
	return blocks
}
