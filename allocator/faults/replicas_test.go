package faults

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts/redistest"
)

var failovers = flag.Int("failovers", 4, "how often one node of three with replicas:1 is lost at a random moment, on each server")

// crew is a set of clients of a server that states replicas:1, and a record of what they used. None of the clients requires
// replicas by its own options.
type crew struct {
	t        *testing.T
	stops    []context.CancelFunc
	working  sync.WaitGroup
	core     zapcore.Core
	log      *observer.ObservedLogs
	mu       sync.Mutex // guards what follows
	used     map[int64]bool
	twice    []int64
	greatest int64
}

func newCrew(t *testing.T) *crew {
	t.Helper()
	c := &crew{t: t, used: map[int64]bool{}}
	c.core, c.log = observer.New(zap.WarnLevel)
	t.Cleanup(c.end)
	return c
}

func (c *crew) end() {
	for _, stop := range c.stops {
		stop()
	}
	c.working.Wait()
}

// open returns an allocator whose jumps the crew records.
func (c *crew) open(client redis.UniversalClient, o allocator.Options) *allocator.Allocator {
	c.t.Helper()
	o.Durability.Timeout, o.Logger = 200*time.Millisecond, zap.New(c.core)
	ids, err := allocator.New(client, o)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = client.Close() })
	return ids
}

// start takes numbers of orders by an allocator on client until the crew ends.
func (c *crew) start(client redis.UniversalClient, o allocator.Options, pause time.Duration) {
	c.t.Helper()
	ids := c.open(client, o)
	working, stop := context.WithCancel(context.WithoutCancel(c.t.Context()))
	c.stops = append(c.stops, stop)
	c.working.Go(func() {
		defer func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(working), time.Second)
			defer cancel()
			_ = ids.Close(ctx)
		}()
		for working.Err() == nil {
			if id, err := ids.NextID(working, "orders"); err == nil {
				c.use(id.Number)
			} else if working.Err() == nil && !allocator.Retryable(err) {
				c.t.Errorf("got %v, want a number or an error that is retryable", err)
				return
			}
			if pause > 0 {
				pass(pause)
			}
		}
	})
}

func (c *crew) use(n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.used[n] {
		c.twice = append(c.twice, n)
	}
	c.used[n], c.greatest = true, max(c.greatest, n)
}

func (c *crew) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.used)
}

// goOn waits until n more numbers were used, by when the clients have found the new primary.
func (c *crew) goOn(n int) {
	c.t.Helper()
	n += c.count()
	await(c.t, fmt.Sprintf("%d numbers", n), func() bool { return c.count() >= n })
}

// report ends the crew, logs what was used, and fails the test if a number was used twice.
func (c *crew) report(what string) {
	c.t.Helper()
	c.end()
	sum, small, jumps := int64(0), 0, c.log.FilterFieldKey("jump").All()
	for i := range jumps {
		jump := jumps[i].ContextMap()
		sum += jump["jump"].(int64)
		if jump["jump"].(int64) < 65536 {
			small++
		}
		if jump["evidence"] != "origin" { // what was used is never lost
			c.t.Errorf("got a jump %v, want only those for the replication id", jump)
		}
	}
	c.t.Logf("%s: %d numbers, %d of them twice, the greatest %d, %d jumps of %d in all, %d of them below 65,536", what, len(c.used), len(c.twice), c.greatest, len(jumps), sum, small)
	if len(c.twice) > 0 {
		c.t.Errorf("%d numbers were used twice, such as %d", len(c.twice), c.twice[:min(10, len(c.twice))])
	}
}

// stateReplicas states replicas:1, as an operator does.
func stateReplicas(t *testing.T, client redis.UniversalClient) {
	t.Helper()
	operator, err := admin.New(client, admin.Options{})
	if err == nil {
		err = operator.SetServerPrefix(t.Context(), prefix.Server{Durable: prefix.DurableReplicas(1)})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// info returns a value of INFO replication, or "" where the server does not answer.
func info(ctx context.Context, client *redis.Client, name string) string {
	text, _ := client.Info(ctx, "replication").Result()
	_, rest, _ := strings.Cut(text, "\r\n"+name+":")
	value, _, _ := strings.Cut(rest, "\r\n")
	return value
}

// node is a server, the proxy through which its replicas reach it, and a client of it.
type node struct {
	*redistest.Server

	link   *redistest.Proxy
	client *redis.Client
}

// follow makes a node a replica of another.
func (n *node) follow(primary *node) {
	n.Await("to follow", func(ctx context.Context) bool {
		host, port, _ := net.SplitHostPort(primary.link.Addr())
		return n.client.ReplicaOf(ctx, host, port).Err() == nil
	})
}

// awaitSync waits until a node is in sync with another.
func (n *node) awaitSync(primary *node) {
	_, port, _ := net.SplitHostPort(primary.link.Addr())
	n.Await("to be in sync", func(ctx context.Context) bool {
		return info(ctx, n.client, "master_port") == port && info(ctx, n.client, "master_link_status") == "up"
	})
}

// One of three nodes is lost at a time. It is killed, stopped and resumed, or cut off while clients still reach it. Of the other
// two the one with more writes is promoted, without which replicas:1 of two replicas would not be sound.
func TestOneNodeOfThreeLostAtRandomMomentsRepeatsNoNumber(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, b redistest.Binary) {
		var nodes [3]*node
		for i := range nodes {
			s := redistest.Start(t, b)
			nodes[i] = &node{s, redistest.NewProxy(t, s), redistest.NewClient(t, s)}
		}
		primary, others := nodes[0], nodes[1:]
		for _, replica := range others {
			replica.follow(primary)
			replica.awaitSync(primary)
		}
		stateReplicas(t, primary.client)
		for _, n := range nodes { // else each jump is the full one until they have
			n.AwaitUptime(2)
		}
		address := redistest.NewProxy(t, primary.Server)
		c := newCrew(t)
		for i := range 4 {
			capacity := int64(1) << (2 * i)
			c.start(through(address).client(), allocator.Options{MinCapacity: capacity, MaxCapacity: capacity}, time.Duration(i)*time.Millisecond/4)
		}
		c.goOn(100)
		lost, began := 0, time.Now()
		for ; lost < *failovers || *long > 0 && time.Since(began) < *long; lost++ {
			pass(rand.N(50 * time.Millisecond))
			victim := rand.IntN(12) // seldom a kill, since a server that was started a moment ago jumps far
			old := primary
			switch victim {
			case 0:
				old.Kill()
			case 1, 2, 3, 4:
				old.Pause()
			case 5:
				replica := others[rand.IntN(2)]
				replica.Kill()
				pass(rand.N(20 * time.Millisecond))
				replica.Restart()
				replica.follow(primary)
				replica.awaitSync(primary)
				continue
			}
			old.link.Refuse(true)
			old.link.Cut()
			var offsets [2]int
			for i, replica := range others {
				replica.Await("to be cut off", func(ctx context.Context) bool { return info(ctx, replica.client, "master_link_status") == "down" })
				offsets[i], _ = strconv.Atoi(info(t.Context(), replica.client, "master_repl_offset"))
			}
			heir, other := others[0], others[1]
			if offsets[1] > offsets[0] {
				heir, other = other, heir
			}
			heir.Promote()
			address.Move(heir.Server) // connections to the old one stay for a while
			other.follow(heir)
			other.awaitSync(heir)
			switch victim {
			case 0:
				old.Restart()
			case 1, 2, 3, 4:
				old.Resume()
			}
			pass(rand.N(20 * time.Millisecond))
			address.Cut()
			old.follow(heir)
			old.awaitSync(heir)
			old.link.Refuse(false)
			primary, others = heir, []*node{other, old}
			if rand.IntN(2) == 0 {
				c.goOn(1 + rand.IntN(500))
			}
		}
		c.report(fmt.Sprintf("%d nodes of three lost", lost))
	})
}
