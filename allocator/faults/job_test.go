package faults

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// jobEnv makes a test process a worker. Its value is the job as JSON.
const jobEnv = "HILO_FAULTS_JOB"

// job describes what one worker does until it is terminated or killed.
type job struct {
	Bare    bool // increment a counter instead of using hilo, set by the fleet
	Journal string

	Identity bool // values of the identity companies instead of numbers of orders

	Servers []address
	Batch   int           // identifiers taken between two entries in the journal
	Pause   time.Duration // after each batch
	Session int           // batches after which the worker closes and begins anew. 0 means never

	MinCapacity, MaxCapacity int64         // 0 means the default
	Runway                   time.Duration // 0 means the default
}

// steady returns a job at a constant rate and in small ranges. A loss of one second is then no greater than what was issued in
// the second before it.
func steady(servers ...address) job {
	return job{Servers: servers, Batch: 32, Pause: 4 * time.Millisecond, MinCapacity: 32, MaxCapacity: 32, Runway: 20 * time.Millisecond}
}

// address describes how a worker reaches a server.
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
	return allocator.Options{MinCapacity: j.MinCapacity, MaxCapacity: j.MaxCapacity, Runway: j.Runway}
}

// claim is a run of numbers that a worker used, Low to High.
type claim struct {
	Space     string // what makes the numbers identifiers: collection and prefix
	Low, High int64
}

// taker takes identifiers, n at a time. With an error it returns those that it took before.
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

// hilo takes identifiers one by one, and every sixteenth time as one batch.
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

// bareKey is the counter of the bare way. The braces put it in the slot of hilo's counters.
const bareKey = "{Raven}/bare"

// bare takes a range by incrementing a counter on the first server that answers, without any protection. Closing it decrements
// the counter by what is left of the range.
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
