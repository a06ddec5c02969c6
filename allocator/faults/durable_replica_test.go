package faults

import (
	"context"
	crand "crypto/rand"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

var promotions = flag.Int("promotions", 6, "at how many random moments a replica of a server with Durable is promoted")

// ledger records the numbers that one server issued to its clients.
type ledger struct {
	mu     sync.Mutex // guards issued
	issued map[int64]bool
}

func (l *ledger) add(r scripts.Range) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n := r.Low; n <= r.High; n++ {
		l.issued[n] = true
	}
}

// load takes ranges of a counter without a pause until stop is called, which returns all numbers that were issued.
func load(t *testing.T, client *redis.Client, keys scripts.Keys) (taken *atomic.Int64, stop func() map[int64]bool) {
	t.Helper()
	l := &ledger{issued: map[int64]bool{}}
	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	taken = new(atomic.Int64)
	for range 2 {
		clients.Go(func() {
			for ctx.Err() == nil {
				got, err := scripts.Next(context.WithoutCancel(ctx), client, keys, freshRequest())
				if err != nil {
					t.Errorf("next: %v", err)
					return
				}
				l.add(got)
				taken.Add(1)
			}
		})
	}
	return taken, func() map[int64]bool {
		cancel()
		clients.Wait()
		return l.issued
	}
}

// freshRequest returns a request of a client that was issued nothing before.
func freshRequest() scripts.NextRequest {
	return scripts.NextRequest{Token: crand.Text(), Name: "orders", Capacity: 1 + rand.Int64N(32), Limit: math.MaxInt64}
}

// replay is the outcome of one promotion.
type replay struct {
	ranges, repeated int
	jumped           bool // the primary
}

// promoteAtRandom attaches a replica to a primary under load and promotes it at a random moment. It then takes ranges from it
// with clients that were issued nothing before, while the primary continues. origin is whether the replica may compare Origin.
func promoteAtRandom(t *testing.T, primary, replica *redistest.Server, namespace string, origin bool) (r replay) {
	t.Helper()
	names := prefix.NewKeys(namespace)
	keys := scripts.Keys{Counter: names.HiLo("orders"), Server: names.Server(), Other: names.Identity("orders")}
	client, promoted := redistest.NewClient(t, primary), redistest.NewClient(t, replica)
	primary.Await("to have no replica", func(ctx context.Context) bool {
		return strings.Contains(client.Info(ctx, "replication").Val(), "connected_slaves:0\r")
	})
	operator, err := admin.New(client, admin.Options{Namespace: namespace})
	if err != nil {
		t.Fatal(err)
	}
	if err := operator.SetServerPrefix(t.Context(), prefix.Server{Durable: prefix.DurableAlways}); err != nil {
		t.Fatal(err)
	}
	taken, stop := load(t, client, keys)
	pass(time.Duration(rand.Int64N(int64(5 * time.Millisecond))))
	host, port, _ := strings.Cut(primary.HostPort(), ":")
	if err := promoted.ReplicaOf(t.Context(), host, port).Err(); err != nil {
		t.Fatal(err)
	}
	pass(time.Duration(rand.ExpFloat64() * float64(80*time.Millisecond)))
	replica.Promote()
	if !origin {
		promoted.HDel(t.Context(), keys.Counter, "Origin")
	}
	var got []scripts.Range
	for range 4 {
		request := freshRequest()
		request.RequireSeeded = true // it may have been promoted before it had anything
		g, err := scripts.Next(t.Context(), promoted, keys, request)
		if errors.Is(err, scripts.ErrNotSeeded) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, g)
	}
	for at := taken.Load(); taken.Load() < at+20; {
		pass(time.Millisecond)
	}
	issued := stop()
	for i := range got {
		r.ranges++
		for n := got[i].Low; n <= got[i].High; n++ {
			if issued[n] {
				r.repeated++
			}
			issued[n] = true
		}
	}
	epoch := client.HGet(t.Context(), keys.Counter, "Epoch").Val()
	r.jumped = epoch != "" && epoch != "0"
	if durable := client.HGet(t.Context(), keys.Server, "Durable").Val(); durable != "" && r.ranges > 0 {
		t.Errorf("the primary served requests beside a replica, and has Durable %q", durable)
	}
	return r
}

// A promoted replica has the Durable of its primary, and lacks some of its writes.
func TestDurableReplicaPromotedAtARandomMomentRepeatsNoNumber(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		origin bool
	}{{"with Origin", true}, {"Origin removed by hand", false}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			eachServer(t, func(t *testing.T, b redistest.Binary) {
				primary, replica := redistest.Start(t, b, aofAlways...), redistest.Start(t, b, aofAlways...)
				moments := *promotions
				if !test.origin { // until one repeats a number
					moments = 100
				}
				var all replay
				jumps, empty := 0, 0
				for i := range moments {
					if !test.origin && all.repeated > 0 {
						break
					}
					r := promoteAtRandom(t, primary, replica, fmt.Sprint("Raven", i), test.origin)
					all.ranges, all.repeated = all.ranges+r.ranges, all.repeated+r.repeated
					if r.jumped {
						jumps++
					}
					if r.ranges == 0 {
						empty++
					}
				}
				t.Logf("%d promotions at most, %d of them before the replica had the counter: %d ranges, %d numbers repeated; the primary jumped %d times",
					moments, empty, all.ranges, all.repeated, jumps)
				if (all.repeated > 0) == test.origin {
					t.Errorf("%d numbers repeated, want some: %v", all.repeated, !test.origin)
				}
				if jumps > 1 { // the first replica that attaches changes the replication id
					t.Errorf("the primary jumped %d times, want at most once", jumps)
				}
			})
		})
	}
}
