package faults

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

var restarts = flag.Int("restarts", 4, "how often a server with Durable is restarted in each way")

const serverKey = "{Raven}/ServerPrefixForHilo"

// aofAlways are the settings that Durable states.
var aofAlways = []string{"--appendonly", "yes", "--appendfsync", "always", "--aof-load-truncated", "yes"}

// ends are the ways in which a server with Durable ends. None of them loses an acknowledged write.
var ends = []struct {
	name string
	load bool // also while ranges are taken
	end  func(t *testing.T, s *redistest.Server)
}{
	{"SIGTERM", true, func(_ *testing.T, s *redistest.Server) { s.Terminate() }},
	{"SIGKILL", true, func(_ *testing.T, s *redistest.Server) { s.Kill() }},
	{"SIGKILL during an AOF rewrite", true, func(t *testing.T, s *redistest.Server) {
		rewrite(t, s)
		s.Kill()
	}},
	{"power loss", false, losePower},
	{"power loss, then redis-check-aof --fix", false, func(t *testing.T, s *redistest.Server) {
		losePower(t, s)
		repair(t, s)
	}},
}

// losePower ends a server in the middle of a write that was not acknowledged. Its AOF keeps everything before that write,
// and a random part of it.
func losePower(t *testing.T, s *redistest.Server) {
	t.Helper()
	kept := sizeOf(t, newestAOF(t, s))
	if _, err := scripts.Next(t.Context(), redistest.NewClient(t, s), ordersKeys, scripts.NextRequest{
		Token: fmt.Sprint("unacknowledged ", rand.Uint64()), Name: "orders", Capacity: 32, Limit: 1<<63 - 1,
	}); err != nil {
		t.Fatal(err)
	}
	s.Kill()
	newest := newestAOF(t, s)
	if err := os.Truncate(newest, kept+rand.Int64N(sizeOf(t, newest)-kept)); err != nil {
		t.Fatal(err)
	}
}

var ordersKeys = scripts.Keys{Counter: counterKey, Server: serverKey, Other: "{Raven}/Identities/orders"}

// newestAOF returns the file that the server appends to.
func newestAOF(t *testing.T, s *redistest.Server) (newest string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.Dir(), "appendonlydir", "*.incr.aof"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no append-only file: %v", err)
	}
	greatest := -1
	for _, file := range files {
		var n int
		if _, err := fmt.Sscanf(filepath.Base(file), "appendonly.aof.%d.incr.aof", &n); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if n > greatest {
			newest, greatest = file, n
		}
	}
	return newest
}

func sizeOf(t *testing.T, file string) int64 {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func operate(t *testing.T, s *redistest.Server) *admin.Admin {
	t.Helper()
	operator, err := admin.New(redistest.NewClient(t, s), admin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return operator
}

// setDurable makes the server state that it keeps every acknowledged write.
func setDurable(t *testing.T, s *redistest.Server) {
	t.Helper()
	if err := operate(t, s).SetServerPrefix(t.Context(), prefix.Server{Durable: prefix.DurableAlways}); err != nil {
		t.Fatal(err)
	}
}

// numbersOf returns the next number of each kind, by a client of its own that returns the rest of its range.
func numbersOf(t *testing.T, s *redistest.Server) (order, identity int64, serverSide string) {
	t.Helper()
	ids, err := allocator.New(redistest.NewClient(t, s), allocator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if order, err = ids.NextNumber(t.Context(), "orders"); err != nil {
		t.Fatal(err)
	}
	if identity, err = ids.NextIdentity(t.Context(), "companies"); err != nil {
		t.Fatal(err)
	}
	if serverSide, err = ids.Resolve(t.Context(), "users/"); err != nil {
		t.Fatal(err)
	}
	if err := ids.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	return order, identity, serverSide
}

func durableOf(t *testing.T, client *redis.Client) string {
	t.Helper()
	return client.HGet(t.Context(), serverKey, "Durable").Val()
}

func TestDurableLetsEveryKindContinueAfterARestart(t *testing.T) {
	t.Parallel()
	for _, way := range ends {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			eachServer(t, func(t *testing.T, b redistest.Binary) {
				s := redistest.Start(t, b, aofAlways...)
				setDurable(t, s)
				for want := int64(1); want <= int64(*restarts)+1; want++ {
					order, identity, serverSide := numbersOf(t, s)
					if text := fmt.Sprintf("users/%019d", want); order != want || identity != want || serverSide != text {
						t.Fatalf("after %d restarts got %d, %d and %s, want %d, %[5]d and %s", want-1, order, identity, serverSide, want, text)
					}
					way.end(t, s)
					s.Restart()
				}
				if got := durableOf(t, redistest.NewClient(t, s)); got != prefix.DurableAlways {
					t.Errorf("Durable = %q, want always", got)
				}
			})
		})
	}
}

func TestRestartWithoutDurableJumps(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, b redistest.Binary) {
		s := redistest.Start(t, b, aofAlways...)
		numbersOf(t, s)
		s.Terminate()
		s.Restart()
		if order, identity, serverSide := numbersOf(t, s); order <= 65536 || identity <= 1024 || serverSide <= fmt.Sprintf("users/%019d", 1024) {
			t.Errorf("after a restart got %d, %d and %s, want a jump of each", order, identity, serverSide)
		}
	})
}

// Durable is set on a server that loses writes. Its statement is false, and the guard is off.
func TestDurableOnAServerThatLosesWritesRepeatsNumbers(t *testing.T) {
	t.Parallel()
	for _, durable := range []bool{true, false} {
		t.Run(fmt.Sprintf("Durable %v", durable), func(t *testing.T) {
			t.Parallel()
			eachServer(t, func(t *testing.T, b redistest.Binary) {
				s := redistest.Start(t, b, "--appendonly", "yes", "--appendfsync", "everysec")
				if durable { // by hand, since SetServerPrefix refuses it
					if err := s.Client(t).HSet(t.Context(), serverKey, "Durable", prefix.DurableAlways).Err(); err != nil {
						t.Fatal(err)
					}
				}
				numbersOf(t, s)
				pass(2500 * time.Millisecond) // until these are on disk
				kept := sizeOf(t, newestAOF(t, s))
				lost, _, _ := numbersOf(t, s)
				s.Kill()
				if err := os.Truncate(newestAOF(t, s), kept); err != nil {
					t.Fatal(err)
				}
				s.Restart()
				if order, _, _ := numbersOf(t, s); (order == lost) != durable {
					t.Errorf("after %d was lost got %d, want it repeated: %v", lost, order, durable)
				}
			})
		})
	}
}

func TestDurableHoldsUnderLoad(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, b redistest.Binary) {
		holds(t, func(t *testing.T, f *fleet) {
			s := redistest.Start(t, b, aofAlways...)
			setDurable(t, s)
			j := steady(at(s))
			f.start(3, j)
			for range max(1, *restarts/4) {
				for _, way := range ends {
					if !way.load {
						continue
					}
					f.awaitEach(300)
					way.end(t, s)
					f.running()[0].kill()
					s.Restart()
					f.start(1, j)
				}
			}
			f.awaitEach(300)
			client := redistest.NewClient(t, s)
			if epoch := client.HGet(t.Context(), counterKey, "Epoch").Val(); epoch != "" && epoch != "0" || durableOf(t, client) != prefix.DurableAlways {
				t.Errorf("Epoch = %q and Durable = %q, want no jump and always", epoch, durableOf(t, client))
			}
		})
	})
}
