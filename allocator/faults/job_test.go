package faults

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// jobEnv makes a worker of a test process: its value is the job, as JSON.
const jobEnv = "HILO_FAULTS_JOB"

// job is what one worker does until it is told to end, or killed.
type job struct {
	Bare    bool // INCRBY and hope instead of hilo; set by the fleet
	Journal string

	Python   bool // by scripts/protocol/hilo.py; not with Bare
	Identity bool // values of the identity companies instead of numbers of orders

	Servers []address
	Batch   int           // identifiers taken between two entries in the journal
	Pause   time.Duration // after each batch
	Session int           // batches after which the worker closes and begins anew; 0: never

	MinCapacity, MaxCapacity int64         // 0: the default
	Runway                   time.Duration // 0: the default
	RequireSeeded            bool
	Replicas                 int
	DurableTimeout           time.Duration
}

// steady is a job at a rate that does not grow, in small ranges: so much is lost in a second as was issued in one before.
func steady(servers ...address) job {
	return job{Servers: servers, Batch: 32, Pause: 4 * time.Millisecond, MinCapacity: 32, MaxCapacity: 32, Runway: 20 * time.Millisecond}
}

// fullSpeed is a job with all defaults that never pauses, and uses ranges only that so many replicas have.
func fullSpeed(replicas int, servers ...address) job {
	return job{Servers: servers, Batch: 1000, Replicas: replicas, DurableTimeout: 200 * time.Millisecond}
}

// address is how a worker reaches a server.
type address struct {
	Name    string
	Addrs   []string
	Master  string // behind sentinels
	Cluster bool
}

func at(s *redistest.Server) address { return address{Addrs: []string{s.HostPort()}} }

func through(p *redistest.Proxy) address { return address{Addrs: []string{p.Addr()}} }

func (a address) client() redis.UniversalClient {
	return redis.NewUniversalClient(&redis.UniversalOptions{
		Addrs: a.Addrs, MasterName: a.Master, IsClusterMode: a.Cluster, ContextTimeoutEnabled: true,
	})
}

func (j job) clients() []redis.UniversalClient {
	var all []redis.UniversalClient
	for _, a := range j.Servers {
		all = append(all, a.client())
	}
	return all
}

func (j job) options() allocator.Options {
	return allocator.Options{
		MinCapacity: j.MinCapacity, MaxCapacity: j.MaxCapacity, Runway: j.Runway, RequireSeeded: j.RequireSeeded,
		Durability: allocator.Durability{Replicas: j.Replicas, Timeout: j.DurableTimeout},
	}
}

// claim is numbers that somebody used, Low to High.
type claim struct {
	Space     string // what makes the numbers identifiers: collection and prefix
	Low, High int64
}

// taker takes identifiers, n at a time. With an error it gives those that it took before.
type taker interface {
	take(ctx context.Context, n int) ([]claim, error)
	close(ctx context.Context) error
}

func (j job) taker(clients []redis.UniversalClient) (taker, error) {
	if j.Bare {
		return &bare{clients: clients, capacity: int64(j.Batch)}, nil
	}
	var ids *allocator.Allocator
	var err error
	if len(clients) == 1 {
		ids, err = allocator.New(clients[0], j.options())
	} else {
		servers := make([]allocator.Server, len(clients))
		for i, c := range clients {
			servers[i] = allocator.Server{Name: j.Servers[i].Name, Client: c}
		}
		ids, err = allocator.NewMulti(servers, j.options())
	}
	if err != nil {
		return nil, err
	}
	if j.Identity {
		return identities{ids}, nil
	}
	orders, err := ids.Collection("orders")
	return &hilo{Allocator: ids, orders: orders}, err
}

// hilo takes them one by one, and sometimes all at once.
type hilo struct {
	*allocator.Allocator
	orders *allocator.Collection
	calls  int
}

func (h *hilo) close(ctx context.Context) error { return h.Close(ctx) }

func (h *hilo) take(ctx context.Context, n int) ([]claim, error) {
	h.calls++
	if h.calls%16 == 0 {
		batch, err := h.orders.Take(ctx, int64(n))
		if err != nil {
			return nil, err
		}
		for id := range batch.IDs() {
			return []claim{{Space: id.Collection + "/" + id.ServerPrefix, Low: batch.Range().Low, High: batch.Range().High}}, nil
		}
	}
	var claims []claim
	for range n {
		id, err := h.orders.NextID(ctx)
		if err != nil {
			return claims, err
		}
		last := len(claims) - 1
		if space := id.Collection + "/" + id.ServerPrefix; last >= 0 && claims[last].Space == space && claims[last].High == id.Number-1 {
			claims[last].High++
		} else {
			claims = append(claims, claim{Space: space, Low: id.Number, High: id.Number})
		}
	}
	return claims, nil
}

// identities takes values of an identity, n with each request.
type identities struct{ *allocator.Allocator }

func (i identities) close(ctx context.Context) error { return i.Close(ctx) }

func (i identities) take(ctx context.Context, n int) ([]claim, error) {
	got, err := i.NextIdentities(ctx, "companies", int64(n))
	if err != nil {
		return nil, err
	}
	return []claim{{Space: "companies/", Low: got.Low, High: got.High}}, nil
}

// bareKey is the counter of those who increment and hope. The braces put it where hilo's are.
const bareKey = "{Raven}/bare"

// bare increments a counter by a range and hopes: on the first server that answers, and giving back by the same way what
// is left at the end.
type bare struct {
	clients   []redis.UniversalClient
	capacity  int64
	next, end int64 // numbers in hand
	from      redis.UniversalClient
}

func (b *bare) take(ctx context.Context, n int) ([]claim, error) {
	var errs error
	for _, client := range b.clients {
		if b.next < b.end {
			break
		}
		end, err := client.IncrBy(ctx, bareKey, 2*b.capacity).Result()
		if errs = err; err == nil {
			b.next, b.end, b.from = end-2*b.capacity, end, client
		} else if cluster, ok := client.(*redis.ClusterClient); ok {
			cluster.ReloadState(ctx)
		}
	}
	if b.next == b.end {
		return nil, errs
	}
	low := b.next + 1
	b.next = min(b.next+int64(n), b.end)
	return []claim{{Space: "bare", Low: low, High: b.next}}, nil
}

func (b *bare) close(ctx context.Context) error {
	if b.next == b.end {
		return nil
	}
	return b.from.DecrBy(ctx, bareKey, b.end-b.next).Err()
}
