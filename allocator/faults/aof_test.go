package faults

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// damage overwrites the first byte of the first command of an append-only file at or after an offset.
func damage(t *testing.T, file string, offset int64) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	command := strings.Index(string(text[offset-1:]), "\n*")
	if command < 0 {
		t.Fatalf("%s has no command behind %d of its %d bytes", file, offset, len(text))
	}
	text[int(offset)+command] = 'x'
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// repair runs redis-check-aof --fix, which cuts the append-only file of a server that is down at the first damage.
func repair(t *testing.T, s *redistest.Server) {
	t.Helper()
	cmd := exec.Command(strings.TrimSuffix(binaryOf(t, s).Path, "server")+"check-aof", "--fix", s.Dir()+"/appendonlydir/appendonly.aof.manifest")
	if _, err := os.Stat(cmd.Path); err != nil {
		redistest.Missing(t, cmd.Path)
	}
	cmd.Stdin = strings.NewReader("y\n")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

func binaryOf(t *testing.T, s *redistest.Server) redistest.Binary {
	t.Helper()
	all := redistest.Binaries(t)
	return all[slices.IndexFunc(all, func(b redistest.Binary) bool { return b.Name == s.Name() })]
}

// startRefused starts a server that is down, and returns what it logs when it refuses to load its damaged append-only file.
func startRefused(t *testing.T, s *redistest.Server) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binaryOf(t, s).Path, slices.Concat(aofAlways, []string{
		"--aof-load-truncated", "no", "--dir", s.Dir(), "--port", "0", "--unixsocket", s.Dir() + "/refused.sock",
	})...)
	text, err := cmd.CombinedOutput()
	if err == nil || ctx.Err() != nil {
		t.Fatalf("the server started from a damaged file: %s", text)
	}
	return string(text)
}

// A damaged append-only file is cut at the damage. At the end of the file this removes a write that was not acknowledged, which
// Durable permits. Earlier in the file it removes acknowledged writes, so that Durable is false, and only a client that was
// issued their numbers can detect it. A server cuts an unfinished write by itself. Where it requires the repair instead, Durable
// has to be set again before the first request.
func TestCheckAOFRepeatsNumbersWhereItCutsAcknowledgedWritesUnderDurable(t *testing.T) {
	t.Parallel()
	const continues, jumps, repeats = "continue", "jump", "repeat"
	for _, test := range []struct {
		name    string
		middle  bool // the damage is before an acknowledged write
		durable bool
		again   bool // Durable is set again before the first request
		living  bool // a client that was issued the lost numbers requests first
		want    string
	}{
		{name: "at its end", want: jumps},
		{name: "at its end, Durable", durable: true, want: continues},
		{name: "in its middle", middle: true, want: jumps},
		{name: "in its middle, Durable", middle: true, durable: true, want: repeats},
		{name: "in its middle, Durable set again", middle: true, durable: true, again: true, want: jumps},
		{name: "in its middle, Durable, a living client", middle: true, durable: true, living: true, want: jumps},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			eachServer(t, func(t *testing.T, b redistest.Binary) {
				s := redistest.Start(t, b, aofAlways...)
				if test.durable {
					setDurable(t, s)
				}
				core, log := observer.New(zap.ErrorLevel)
				living, err := allocator.New(redistest.NewClient(t, s), allocator.Options{Logger: zap.New(core)})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = living.Close(context.WithoutCancel(t.Context())) })
				numbersOf(t, s)
				kept := sizeOf(t, newestAOF(t, s))
				last, _, _ := numbersOf(t, s)
				value, err := living.NextIdentity(t.Context(), "companies")
				if err != nil {
					t.Fatal(err)
				}
				if !test.middle {
					losePower(t, s)
				} else {
					s.Kill()
					damage(t, newestAOF(t, s), kept)
					if log := startRefused(t, s); !strings.Contains(log, "Bad file format reading the append only file") {
						t.Errorf("got %s, want a server that refuses the file", log)
					}
				}
				repair(t, s)
				s.Restart()
				client := redistest.NewClient(t, s)
				if test.again {
					setDurable(t, s)
				}
				if test.living {
					next, err := living.NextIdentity(t.Context(), "companies")
					if err != nil || next <= value+1024 || durableOf(t, client) != "" || log.Len() != 1 {
						t.Errorf("got %d, %v, Durable %q and %v, want a jump above %d, no Durable and an error in the log", next, err, durableOf(t, client), log.All(), value)
					}
				}
				got, _, _ := numbersOf(t, s)
				var found string
				switch {
				case got <= last:
					found = repeats
				case got == last+1:
					found = continues
				case got > 65536:
					found = jumps
				}
				if found != test.want {
					t.Errorf("after %d got %d, want it to %s", last, got, test.want)
				}
				if durable := durableOf(t, client); (durable == prefix.DurableAlways) != (test.durable && !test.living) {
					t.Errorf("Durable = %q after a request", durable)
				}
			})
		})
	}
}
