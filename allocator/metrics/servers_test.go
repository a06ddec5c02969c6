package metrics_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/metrics"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestServersHaveTheirNames(t *testing.T) {
	t.Parallel()
	north, south := redistest.StartMini(t), redistest.StartMini(t)
	setPrefix(t, redistest.NewClient(t, north), prefix.Server{ServerPrefix: "NorthServer/"})
	setPrefix(t, redistest.NewClient(t, south), prefix.Server{ServerPrefix: "SouthServer/"})
	ids, err := allocator.NewMulti([]allocator.Server{
		{Name: "north", Client: redistest.NewClient(t, north)}, {Name: "so\xffth", Client: redistest.NewClient(t, south)},
	}, allocator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ids.Close(context.Background()) }()
	north.Kill()
	take(t, ids, "orders", 1)
	gather(t, newCollector(t, metrics.Options{}, ids)).want(t, map[string]float64{
		`hilo_server_up{server="north"}`: 0,
		`hilo_server_up{server="so�th"}`: 1,
		`hilo_server_info{durable="",identities="",max_value="",min_value="",prefix="SouthServer/",server="so�th",tag=""}`: 1,
		`hilo_refill_seconds{server="north"}`:                           1,
		`hilo_refill_failures_total{kind="unavailable",server="north"}`: 1,
		`hilo_refill_seconds{server="so�th"}`:                           1,
	})
}

// TestCollectorReportsAStandbyThatIsDown covers a server that no number was requested of. South reports that it is the home of
// identities.
func TestCollectorReportsAStandbyThatIsDown(t *testing.T) {
	t.Parallel()
	north, south, dead := redistest.StartMini(t), redistest.StartMini(t), redistest.StartMini(t)
	setPrefix(t, redistest.NewClient(t, north), prefix.Server{ServerPrefix: "NorthServer/"})
	setPrefix(t, redistest.NewClient(t, south), prefix.Server{ServerPrefix: "SouthServer/", Identities: true})
	dead.Kill()
	ids, err := allocator.NewMulti([]allocator.Server{
		{Name: "north", Client: redistest.NewClient(t, north)}, {Name: "south", Client: redistest.NewClient(t, south)}, {Name: "dead", Client: redistest.NewClient(t, dead)},
	}, allocator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ids.Close(context.Background()) }()
	take(t, ids, "orders", 1)
	got := gather(t, newCollector(t, metrics.Options{}, ids))
	got.want(t, map[string]float64{
		`hilo_server_up{server="north"}`:      1,
		`hilo_server_up{server="south"}`:      1,
		`hilo_server_up{server="dead"}`:       0,
		`hilo_refill_seconds{server="dead"}`:  0,
		`hilo_refill_seconds{server="south"}`: 0,
		`hilo_server_info{durable="",identities="here",max_value="",min_value="",prefix="SouthServer/",server="south",tag=""}`: 1,
	})
	if _, there := got[`hilo_server_answer_age_seconds{server="dead"}`]; there {
		t.Error("got an answer age of a server that never answered, want none")
	}
	if _, there := got[`hilo_server_answer_age_seconds{server="south"}`]; !there {
		t.Error("got no answer age of the standby, want one")
	}
}

// The alert that fires while a server is down ends without a call.
func TestServerUpRecoversWithoutCalls(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T, b redistest.Binary, adds string) *redistest.Server {
		t.Helper()
		s := redistest.Start(t, b, "--appendonly", "yes", "--appendfsync", "always")
		setPrefix(t, redistest.NewClient(t, s), prefix.Server{ServerPrefix: adds})
		return s
	}
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			north, south := begin(t, b, "NorthServer/"), begin(t, b, "SouthServer/")
			opts := allocator.Options{RefillTimeout: 500 * time.Millisecond}
			one := newAllocator(t, redistest.NewClient(t, north), opts)
			both, err := allocator.NewMulti([]allocator.Server{
				{Name: "north", Client: redistest.NewClient(t, north)}, {Name: "south", Client: redistest.NewClient(t, south)},
			}, opts)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = both.Close(context.Background()) })
			collector := newCollector(t, metrics.Options{}, one, both)
			up := func() (n float64) {
				got := gather(t, collector)
				return got[`hilo_server_up{server="redis"}`] + got[`hilo_server_up{server="north"}`] + got[`hilo_server_up{server="south"}`]
			}
			for _, ids := range []*allocator.Allocator{one, both} {
				take(t, ids, "orders", 1)
			}
			if got := up(); got != 3 {
				t.Fatalf("got %v servers up, want 3", got)
			}
			north.Kill()
			south.Kill()
			var callers sync.WaitGroup
			for _, ids := range []*allocator.Allocator{one, both} {
				callers.Go(func() {
					for {
						if _, err := ids.Next(t.Context(), "orders"); err != nil {
							return
						}
					}
				})
			}
			callers.Wait()
			if got := up(); got != 0 {
				t.Errorf("during the outage: got %v servers up, want 0", got)
			}
			north.Restart()
			south.Restart()
			for deadline := time.Now().Add(time.Minute); up() != 3; <-time.After(10 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("a minute after the outage: got %v servers up, want 3", up())
				}
			}
		})
	}
}

// The interval is above 10^12. A tenth of its 1,000 numbers is in the range that was taken.
func TestCollectorReportsTheSettingsOfAServer(t *testing.T) {
	t.Parallel()
	server := redistest.StartMini(t)
	server.ReportDurable()
	client := redistest.NewClient(t, server)
	const low, high int64 = 1_000_000_000_001, 1_000_000_001_000
	client.HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "MinValue", low, "MaxValue", high, "Durable", "always")
	ids, err := allocator.New(client, allocator.Options{MinCapacity: 100, MaxCapacity: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ids.Close(context.Background()) }()
	take(t, ids, "orders", 1)
	gather(t, newCollector(t, metrics.Options{}, ids)).want(t, map[string]float64{
		`hilo_server_info{durable="always",identities="",max_value="1000000001000",min_value="1000000000001",prefix="",server="redis",tag=""}`: 1,
		`hilo_headroom_ratio{collection="orders"}`: 0.9,
	})
}

// Numbers up to the ceiling are issued while it cannot be raised. The alert that fires meanwhile ends without a call.
func TestCollectorReportsACeilingThatCannotBeRaised(t *testing.T) {
	t.Parallel()
	server := redistest.StartMini(t)
	server.ReportDurable()
	client := redistest.NewClient(t, server)
	client.HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "Durable", "always")
	ids := newAllocator(t, client, allocator.Options{MinCapacity: 1, MaxCapacity: 1})
	other := newAllocator(t, client, allocator.Options{})
	collector := newCollector(t, metrics.Options{}, other, ids)
	take(t, ids, "orders", 1)
	got := gather(t, collector)
	got.want(t, map[string]float64{`hilo_server_ceiling_blocked{server="redis"}`: 0})
	if _, there := got[`hilo_server_ceiling_seconds{server="redis"}`]; there {
		t.Error("got seconds that are left, want none while nothing is in the way")
	}

	// The ceiling is at 65. With less than half of that left it is raised ahead.
	server.SetInfo("aof_enabled", "0")
	client.HSet(t.Context(), "{Raven}/HiLo/orders", "RaisedAt", time.Now().Add(-time.Hour).UnixMilli())
	take(t, ids, "orders", 44)
	await(t, collector, `hilo_server_ceiling_blocked{server="redis"}`, 1)
	if seconds := gather(t, collector)[`hilo_server_ceiling_seconds{server="redis"}`]; seconds < 60 || seconds > 3600 {
		t.Errorf("got %v s that the rest lasts, want what an hour's rate gives", seconds)
	}
	for used := false; !used; {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err := ids.Next(ctx, "orders")
		cancel()
		if used = errors.Is(err, allocator.ErrNotDurable); err != nil && !used && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v, want ErrNotDurable", err)
		}
	}
	await(t, collector, `hilo_server_ceiling_blocked{server="redis"}`, 1)

	server.SetInfo("aof_enabled", "1")
	take(t, ids, "orders", 1)
	await(t, collector, `hilo_server_ceiling_blocked{server="redis"}`, 0)
}

// await waits until a series has a value.
func await(t *testing.T, collector prometheus.Collector, name string, want float64) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; <-time.After(10 * time.Millisecond) {
		if got, there := gather(t, collector)[name]; there && got == want {
			return
		} else if time.Now().After(deadline) {
			t.Fatalf("%s: got %v, %t after a minute, want %v", name, got, there, want)
		}
	}
}
