package faults

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts/redistest"
)

var losses = flag.Int("losses", 4, "how often a durable server loses its power or is killed")

// disk notes what a server synced. testdata/sync.c, which is loaded into the server, delays each sync and writes no page, so that
// a cut to what was synced is all that a loss of power would have left.
type disk struct{ log string }

// onDisk returns a server's binary whose syncs take up to a number of milliseconds, at random.
func onDisk(t *testing.T, b redistest.Binary, delay int) (redistest.Binary, disk) {
	t.Helper()
	dir := t.TempDir()
	library := filepath.Join(dir, "sync.so")
	if text, err := exec.CommandContext(t.Context(), "gcc", "-shared", "-fPIC", "-O1", "-o", library, "testdata/sync.c", "-ldl", "-lpthread").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	d := disk{filepath.Join(dir, "synced")}
	script := fmt.Sprintf("#!/bin/sh\nLD_PRELOAD='%s' SYNC_LOG='%s' SYNC_DELAY_MS=%d exec '%s' \"$@\"\n", library, d.log, delay, b.Path)
	wrapper := filepath.Join(dir, "server")
	if err := os.WriteFile(wrapper, []byte(script), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	b.Path = wrapper
	return b, d
}

// losePower cuts the append-only files of a server that was killed to what was synced.
func (d disk) losePower(t *testing.T, s *redistest.Server) (lost int64) {
	t.Helper()
	log, err := os.Open(d.log)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	synced := make(map[string]int64)
	for lines := bufio.NewScanner(log); lines.Scan(); {
		var size int64
		text, path, _ := strings.Cut(lines.Text(), " ")
		if _, err := fmt.Sscan(text, &size); err != nil {
			t.Fatal(err)
		}
		synced[filepath.Base(path)] = size
	}
	files, err := filepath.Glob(filepath.Join(s.Dir(), "appendonlydir", "*.incr.aof"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no append-only file: %v", err)
	}
	for _, file := range files {
		size, kept := sizeOf(t, file), synced[filepath.Base(file)]
		lost += size - kept
		if err := os.Truncate(file, kept); err != nil {
			t.Fatal(err)
		}
	}
	return lost
}

// A durable server is killed or loses its power at random moments, also while a ceiling is being raised and a sync takes seconds.
// It continues above what it had reserved, and its statement stands.
func TestPowerLossAtADurableServerRepeatsNoNumber(t *testing.T) {
	t.Parallel()
	for durable, delay := range map[string]int{prefix.DurableEverysec: 3000, prefix.DurableAlways: 50} {
		t.Run(durable, func(t *testing.T) {
			t.Parallel()
			eachServer(t, func(t *testing.T, b redistest.Binary) {
				holds(t, func(t *testing.T, f *fleet) {
					b, d := onDisk(t, b, delay)
					s := redistest.Start(t, b, durableArgs(durable)...)
					setDurable(t, s, durable)
					j := steady(at(s))
					j.Pause = 0
					f.start(3, j)
					var lost int64
					for i := range *losses {
						f.awaitEach(100 + rand.Int64N(2000))
						s.Kill()
						if i%2 == 0 {
							lost += d.losePower(t, s)
						}
						f.running()[0].kill()
						s.Restart()
						f.start(1, j)
					}
					f.awaitEach(100)
					client := redistest.NewClient(t, s)
					if got := client.HGet(t.Context(), serverKey, "Durable").Val(); got != durable {
						t.Errorf("got Durable %q, want %q", got, durable)
					}
					t.Logf("%d bytes were lost", lost)
				})
			})
		})
	}
}

// Two durable masters are killed in turn, one of them with a loss of power, and no call fails while the other is up.
func TestTwoDurableMastersKilledInTurnRepeatNoNumber(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, b redistest.Binary) {
		holds(t, func(t *testing.T, f *fleet) {
			north := master(t, b, prefix.Server{ServerPrefix: "NorthServer/", Durable: prefix.DurableEverysec}, durableArgs(prefix.DurableEverysec)...)
			south := master(t, b, prefix.Server{ServerPrefix: "SouthServer/", Durable: prefix.DurableAlways}, durableArgs(prefix.DurableAlways)...)
			killInTurn(t, f, north, south)
			for _, s := range []*redistest.Server{north, south} {
				if got := redistest.NewClient(t, s).HGet(t.Context(), serverKey, "Durable").Val(); got == "" {
					t.Error("got no Durable, want it to stand")
				}
			}
		})
	})
}

// A durable server whose append-only file is switched off, and on again, issues only what is known to be on disk.
func TestAppendOnlyOffAtADurableServerRepeatsNoNumber(t *testing.T) {
	t.Parallel()
	for _, durable := range []string{prefix.DurableEverysec, prefix.DurableAlways} {
		t.Run(durable, func(t *testing.T) {
			t.Parallel()
			eachServer(t, func(t *testing.T, b redistest.Binary) {
				for name, change := range map[string][]string{"off": {"no"}, "off and on": {"no", "yes"}} {
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						s := redistest.Start(t, b, durableArgs(durable)...)
						setDurable(t, s, durable)
						last := takeUntilRefused(t, s, 3)
						client := redistest.NewClient(t, s)
						for _, value := range change {
							if err := client.ConfigSet(t.Context(), "appendonly", value).Err(); err != nil {
								t.Fatal(err)
							}
						}
						last = max(last, takeUntilRefused(t, s, 500))
						s.Kill()
						s.Restart()
						if low := takeUntilRefused(t, s, 1); low != 0 && low <= last {
							t.Errorf("after %d got %d, want a greater number or none", last, low)
						}
					})
				}
			})
		})
	}
}

// A counter of a durable server that took few numbers continues below 200 after a restart, and a plain one jumps.
func TestRestartOfADurableServerSkipsFewNumbers(t *testing.T) {
	t.Parallel()
	for _, durable := range []string{prefix.DurableEverysec, prefix.DurableAlways, ""} {
		t.Run("Durable "+durable, func(t *testing.T) {
			t.Parallel()
			eachServer(t, func(t *testing.T, b redistest.Binary) {
				for name, end := range map[string]func(*redistest.Server){"kill": (*redistest.Server).Kill, "clean": (*redistest.Server).Terminate} {
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						s := redistest.Start(t, b, durableArgs(prefix.DurableAlways)...)
						setDurable(t, s, durable)
						if last := takeUntilRefused(t, s, 3); last != 3 {
							t.Fatalf("got %d, want 3", last)
						}
						end(s)
						s.Restart()
						got := takeUntilRefused(t, s, 1)
						if durable == "" && got <= 65536 || durable != "" && (got <= 3 || got >= 200) {
							t.Errorf("after 3 got %d, want 4 to 199 where the server is durable, and above 65536 elsewhere", got)
						}
					})
				}
			})
		})
	}
}

func durableArgs(durable string) []string {
	return []string{"--appendonly", "yes", "--appendfsync", durable, "--aof-load-truncated", "yes"}
}

// setDurable makes the server state that it keeps what it synced.
func setDurable(t *testing.T, s *redistest.Server, durable string) {
	t.Helper()
	if err := operate(t, s).SetServerPrefix(t.Context(), prefix.Server{Durable: durable}); err != nil {
		t.Fatal(err)
	}
}

// takeUntilRefused takes n numbers of orders by a client of its own, or those that there are, and returns the last or 0.
func takeUntilRefused(t *testing.T, s *redistest.Server, n int) (last int64) {
	t.Helper()
	ids, err := allocator.New(redistest.NewClient(t, s), allocator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), waitForCeiling)
	defer cancel()
	for range n {
		number, err := ids.NextNumber(ctx, "orders")
		if err != nil {
			if !allocator.Retryable(err) {
				t.Fatal(err)
			}
			break
		}
		last = number
	}
	if err := ids.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	return last
}
