package faults

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// endings are the ways in which a primary behind sentinels loses its place. Each returns what undoes it.
var endings = []struct {
	name string
	end  func(t *testing.T, sentinels *redistest.Sentinels, primary *redistest.Server) (back func())
}{
	{"kill", func(_ *testing.T, _ *redistest.Sentinels, primary *redistest.Server) func() {
		primary.Kill()
		return primary.Restart
	}},
	{"SIGSTOP", func(_ *testing.T, _ *redistest.Sentinels, primary *redistest.Server) func() {
		primary.Pause()
		return primary.Resume
	}},
	{"planned", func(t *testing.T, sentinels *redistest.Sentinels, _ *redistest.Server) func() {
		t.Helper()
		sentinel := redistest.NewClient(t, sentinels.Nodes[0])
		await(t, "the sentinel to begin a failover", func() bool {
			return sentinel.Do(t.Context(), "SENTINEL", "FAILOVER", redistest.MasterName).Err() == nil
		})
		return func() {}
	}},
}

// The primary of three sentinels fails in each way, while workers run, are killed and start. Of an old one that resumes, or was
// demoted, workers that are still connected to it take numbers until it is reconfigured.
//
// An old one that restarts is fenced until it has a replica. It jumps as its successor does, so that without a fence only the offset
// keeps the two apart, which is likely and not certain.
func TestSentinelFailoverRepeatsNoNumber(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, b redistest.Binary) {
		holds(t, func(t *testing.T, f *fleet) {
			primary, all, sentinels := underSentinels(t, b, "--min-replicas-to-write", "1")
			for _, s := range all {
				if err := redistest.NewClient(t, s).ConfigSet(t.Context(), "min-replicas-to-write", "0").Err(); err != nil {
					t.Fatal(err)
				}
			}
			primary.Initialize("Raven") // refused until then
			watching := steady(address{Addrs: sentinels.Addrs(), Master: redistest.MasterName})
			f.start(4, watching)
			f.awaitEach(3_000)
			for _, way := range endings {
				stale := watching
				stale.Servers = []address{at(primary)}
				w := f.start(1, stale)[0]
				w.awaitUse(1000)
				old := primary
				back := way.end(t, sentinels, old)
				sentinels.AwaitFailover(old)
				primary = newPrimary(t, all, old)
				f.running()[0].kill()
				f.start(1, watching)
				back()
				awaitChange(t, old, primary)
				w.kill()
				f.awaitEach(1000)
			}
		})
	})
}

// A primary that restarts before its sentinels notice has lost what it did not keep, and its replicas copy that. Workers that ran
// continue above what they were issued. New ones are refused as long as there are no settings.
func TestRestartBeforeTheFailoverRepeatsNoNumber(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"AOF": {"--appendonly", "yes"}, "without persistence": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachServer(t, func(t *testing.T, b redistest.Binary) {
				holds(t, func(t *testing.T, f *fleet) {
					primary, _, sentinels := underSentinels(t, b, args...)
					j := steady(address{Addrs: sentinels.Addrs(), Master: redistest.MasterName})
					f.start(4, j)
					for range 3 {
						f.awaitEach(1000)
						primary.Kill()
						primary.Restart()
						f.running()[0].kill()
						f.awaitEach(1000)
						f.start(1, j)
					}
					f.awaitEach(1000)
				})
			})
		})
	}
}

// Many workers start during a planned failover, in which nothing fails, and take their first range from either server.
func TestWorkersThatStartDuringAPlannedFailoverRepeatNoNumber(t *testing.T) {
	t.Parallel()
	const workers = 1000
	eachServer(t, func(t *testing.T, b redistest.Binary) {
		primary, all, sentinels := underSentinels(t, b)
		var mu sync.Mutex
		used := make(map[int64]int)
		start := func(client redis.UniversalClient, who int) {
			ids, err := allocator.New(client, allocator.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			defer func() { _ = ids.Close(ctx) }()
			for range 32 {
				id, err := ids.NextID(ctx, "orders")
				for err != nil && allocator.Retryable(err) && ctx.Err() == nil {
					id, err = ids.NextID(ctx, "orders")
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if before, twice := used[id.Number]; twice {
					t.Errorf("orders/%d was issued to %d and to %d", id.Number, before, who)
				}
				used[id.Number] = who
				mu.Unlock()
			}
		}
		watching := address{Addrs: sentinels.Addrs(), Master: redistest.MasterName}.client()
		t.Cleanup(func() { _ = watching.Close() })
		var starting sync.WaitGroup
		begin := func(n int) {
			for range n {
				who := n
				starting.Go(func() { start(watching, who) })
			}
			starting.Wait()
		}
		begin(1)
		heirs := all[1:]
		for _, s := range heirs { // which lack the newest writes then
			primary.PauseReplica(s, fmt.Sprintf("%s%s", filler, s.HostPort()))
		}
		begin(workers)
		for _, s := range heirs {
			s.Resume()
		}
		endings[2].end(t, sentinels, primary)
		begin(workers)
		sentinels.AwaitFailover(primary)
		begin(workers)
		if want := (3*workers + 1) * 32; len(used) != want {
			t.Errorf("got %d numbers, want %d", len(used), want)
		}
	})
}

// underSentinels starts a primary, two replicas and three sentinels, and returns all servers with the primary first.
func underSentinels(t *testing.T, b redistest.Binary, args ...string) (primary *redistest.Server, all []*redistest.Server, sentinels *redistest.Sentinels) {
	t.Helper()
	primary = redistest.Start(t, b, args...)
	all = []*redistest.Server{primary, redistest.StartReplica(t, primary, args...), redistest.StartReplica(t, primary, args...)}
	return primary, all, redistest.StartSentinels(t, primary, 3, 2)
}

// newPrimary returns the server that sentinels promoted in place of old.
func newPrimary(t *testing.T, all []*redistest.Server, old *redistest.Server) (primary *redistest.Server) {
	t.Helper()
	for _, s := range all {
		if s != old && info(t.Context(), redistest.NewClient(t, s), "role") == "master" {
			return s
		}
	}
	t.Fatal("got no new primary, want one")
	return nil
}
