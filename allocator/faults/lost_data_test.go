package faults

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// hilo runs a command of hilo, in this process, and returns what it prints.
func (f *fleet) hilo(input string, args ...string) string {
	f.t.Helper()
	var stdout, stderr bytes.Buffer
	env := cli.Env{Stdin: strings.NewReader(input), Stdout: &stdout, Stderr: &stderr}
	if code := cli.Run(f.t.Context(), append([]string{"hilo"}, args...), env); code != 0 {
		f.t.Fatalf("hilo %q: got exit code %d, want 0: %s", args, code, stderr.String())
	}
	return stdout.String()
}

// margin is what hilo help recover adds for the numbers that workers hold.
const margin = 4_194_304

// recoveries are what an operator does after a server came back empty, by hilo help recover. The commands are those of its text,
// where N is the greatest number that was used.
var recoveries = []struct {
	name     string
	prefix   string   // that the server had
	commands []string // and what they have for the prefix and N
	refused  bool     // no worker is served before a person decides
}{
	{name: "a number above all", commands: []string{"hilo init NorthServer/ --min-value N --durable none"}},
	{name: "a new prefix", prefix: "NorthServer/", commands: []string{"hilo init NorthServer2/ --durable none"}},
	{name: "seeds from the rows", commands: []string{
		"hilo init NorthServer/ --seeded-only --durable none", "hilo seed --file - --after-loss", "hilo settings set --seeded-only=false",
	}},
	{name: "the prefix that it had and seeds from the rows", prefix: "NorthServer/", commands: []string{
		"hilo init NorthServer/ --seeded-only --durable none", "hilo seed --file - --after-loss", "hilo settings set --seeded-only=false",
	}},
	{name: "no step"},
	{name: "no step where there was a prefix", prefix: "NorthServer/", refused: true},
}

// loses starts three workers, kills the server together with one of them, and starts it again without its files.
func (f *fleet) loses(s *redistest.Server, victim int) {
	f.t.Helper()
	f.start(3, steady(at(s)))
	f.awaitEach(1000)
	s.Kill()
	f.workers[victim].kill()
	for _, name := range []string{"appendonlydir", "dump.rdb"} {
		if err := os.RemoveAll(filepath.Join(s.Dir(), name)); err != nil {
			f.t.Fatal(err)
		}
	}
	s.Restart()
}

func TestServerThatLostItsFilesRepeatsNoNumber(t *testing.T) {
	t.Parallel()
	binaries := redistest.Binaries(t)
	if len(binaries) == 0 {
		redistest.Missing(t, "a real server")
	}
	for i, recovery := range recoveries {
		for victim := range 3 { // each on one server, and so each recovery on all
			t.Run(fmt.Sprintf("%s, worker %d", recovery.name, victim+1), func(t *testing.T) {
				t.Parallel()
				s := redistest.Start(t, binaries[(i+victim)%len(binaries)], "--appendonly", "yes")
				holds(t, func(t *testing.T, f *fleet) {
					if recovery.prefix != "" {
						f.hilo("", "settings", "set", recovery.prefix, "--redis", "redis://"+s.HostPort())
					}
					f.loses(s, victim)
					for _, command := range recovery.commands {
						f.follow(s, recovery.prefix, command)
					}
					newcomer := f.start(1, steady(at(s)))[0]
					if !recovery.refused {
						f.awaitEach(200) // also those that ran
						return
					}
					for _, w := range f.running() {
						if w != newcomer {
							w.awaitError(allocator.ErrPrefixMissing.Error())
						}
					}
					newcomer.awaitError(allocator.ErrNotSeeded.Error())
					if newcomer.used > 0 {
						t.Errorf("got %d numbers of a server without settings, want none", newcomer.used)
					}
				})
			})
		}
	}
}

// Workers that only increment a counter repeat numbers under this fault.
func TestServerThatLostItsFilesRepeatsNumbersOfABareCounter(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, b redistest.Binary) {
		f, s := newFleet(t, true), redistest.Start(t, b, "--appendonly", "yes")
		f.loses(s, 0)
		f.start(1, steady(at(s)))
		f.awaitEach(1000)
		if f.stop(); f.ledger().Duplicates == 0 {
			t.Error("no number was used twice: the fault does not show")
		}
	})
}

// follow runs a command of hilo help recover, with the prefix that the server had and the greatest number that was used.
func (f *fleet) follow(s *redistest.Server, prefix, command string) {
	f.t.Helper()
	if help := f.hilo("", "help", "recover"); !strings.Contains(help, command) {
		f.t.Fatalf("hilo help recover has no %q", command)
	}
	var greatest int64
	for _, w := range f.workers {
		w.read()
		for _, c := range w.claims {
			greatest = max(greatest, c.High)
		}
	}
	args := slices.Concat(strings.Fields(command)[1:], []string{"--redis", "redis://" + s.HostPort()})
	for i, arg := range args {
		switch arg {
		case "NorthServer/":
			args[i] = prefix
		case "N":
			args[i] = fmt.Sprint(greatest + margin)
		}
	}
	args = slices.DeleteFunc(args, func(arg string) bool { return arg == "" }) // it had no prefix
	if args[0] == "init" {
		args = append(args, "--yes")
	}
	f.hilo(fmt.Sprintf("collection,max\norders,%d\n", greatest), args...)
}
