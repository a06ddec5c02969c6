package ravendb

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// numbers bounds the histories. The long form is -numbers 1000000.
var numbers = flag.Int("numbers", 20_000, "numbers that each random history of gateways issues")

const usersKey = "{Raven}/HiLo/users"

// story is a random history of gateways of one master, and of clients that use them as RavenDB's do.
type story struct {
	*wire
	server  *redistest.Server
	random  *rand.Rand
	lossy   *lossy
	nodes   []Node // of each gateway
	serving []*Handler
	retired []*Handler // which end after their successor has begun

	used    map[int64]bool // numbers that a client used, or holds
	ids     int            // used, in all
	clients []*storyClient
	closed  []*storyClient // that returned the rest of their range
	saved   map[string]string
	life    string // the replication id at the newest move

	returned, taken int64 // numbers that clients returned, and those that were taken back
}

// storyClient is a client with a range. It uses all of a range before it requests another, and returns the rest at its end.
type storyClient struct {
	gateway         int
	low, now, high  int64
	size            int64
	at              string
	returnedTo, end int64
}

func newStory(t *testing.T, s *redistest.Server, gateways int, nodes bool, seed uint64) *story {
	t.Helper()
	w := newWire(t, s)
	w.client.Del(t.Context(), usersKey)
	h := &story{wire: w, server: s, random: rand.New(rand.NewPCG(seed, 1)), lossy: &lossy{UniversalClient: w.client}, used: make(map[int64]bool)}
	for i := range gateways {
		if nodes {
			h.nodes = append(h.nodes, Node{fmt.Sprintf("G%d", i), fmt.Sprintf("http://g%d.example", i)})
		}
		h.serving = append(h.serving, nil)
		h.restart(i)
	}
	return h
}

// restart replaces a gateway by a new process. The limit of ranges that it remembers is low, so that it is reached.
func (h *story) restart(i int) {
	if old := h.serving[i]; old != nil {
		h.retired = append(h.retired[max(0, len(h.retired)-2):], old)
	}
	h.serving[i] = h.again(func(o *Options) { o.Client, o.Nodes = h.lossy, h.nodes })
	h.serving[i].ranges.max = 1 + h.random.IntN(50)
}

// kill replaces the only gateway, whose process ends at once.
func (h *story) kill() {
	h.restart(0)
	h.retired = nil
}

// gateway returns a gateway, or sometimes one that is about to end.
func (h *story) gateway(i int) *Handler {
	if len(h.retired) > 0 && h.random.IntN(20) == 0 {
		return h.retired[h.random.IntN(len(h.retired))]
	}
	return h.serving[i]
}

// next requests a range for a client, at another gateway if its own fails.
func (h *story) next(c *storyClient) {
	h.t.Helper()
	for range 100 {
		h.lossy.lost = h.random.IntN(50) == 0
		got, err := tryNext(h.t, h.gateway(c.gateway), fmt.Sprintf("tag=users&lastBatchSize=%d&lastRangeAt=%s&lastMax=%d", c.size, c.at, c.high))
		h.lossy.lost = false
		if err == nil && h.random.IntN(20) > 0 { // a reply of the gateway may be lost too
			c.low, c.now, c.high, c.size, c.at = got.Low, got.Low-1, got.High, min(got.LastSize, 64), got.LastRangeAt
			h.hold(got.Low, got.High)
			return
		}
		c.gateway = h.random.IntN(len(h.serving))
	}
	h.t.Fatal("got 100 failed requests, want one that succeeds")
}

// hold records that a client holds a range.
func (h *story) hold(low, high int64) {
	h.t.Helper()
	for n := low; n <= high; n++ {
		if h.used[n] {
			h.t.Fatalf("got %d twice, in %d..%d, after %d numbers, want each number once", n, low, high, h.ids)
		}
		h.used[n] = true
	}
}

// allocate takes a range as an allocator does. It sends no floor.
func (h *story) allocate() {
	h.t.Helper()
	keys := scripts.Keys{Counter: usersKey, Server: "{Raven}/ServerPrefixForHilo", Other: "{Raven}/Identities/users"}
	got, err := scripts.Next(h.t.Context(), h.client, keys, scripts.NextRequest{
		Token: fmt.Sprint(h.random.Uint64()), Name: "users", Capacity: 1 + h.random.Int64N(40), Limit: math.MaxInt64,
	})
	if err != nil {
		h.t.Fatal(err)
	}
	h.hold(got.Low, got.High)
}

// use uses some numbers of a client, and requests further ranges as needed.
func (h *story) use(c *storyClient, n int) {
	h.t.Helper()
	for range n {
		if c.now == c.high {
			h.next(c)
		}
		c.now++
		h.ids++
	}
}

// end ends a client, which returns what it did not use.
func (h *story) end(c *storyClient) {
	h.t.Helper()
	for n := c.now + 1; n <= c.high; n++ {
		delete(h.used, n)
	}
	c.returnedTo, c.end = c.now, c.high
	before := h.max()
	h.lossy.lost = h.random.IntN(20) == 0
	h.back(c, c.gateway)
	if h.lossy.lost {
		h.lossy.lost = false
		h.back(c, c.gateway) // repeated after a lost reply
	}
	h.returned += c.high - c.now
	if after := h.max(); before == c.high && after == c.now {
		h.taken += c.high - c.now
	}
	h.closed = append(h.closed, c)
}

// back sends the return of a client that ended.
func (h *story) back(c *storyClient, gateway int) {
	h.t.Helper()
	send(h.t, h.gateway(gateway), http.MethodPut, fmt.Sprintf("/databases/Shop/hilo/return?tag=users&end=%d&last=%d", c.end, c.returnedTo))
}

func (h *story) max() (max int64) {
	h.t.Helper()
	_, _ = fmt.Sscan(h.get(usersKey, "Max"), &max)
	return max
}

// save saves a state for move to restore, unless the counter did not jump since the newest move. The loss of a jump may repeat
// what was issued after it.
func (h *story) save() {
	if state := h.client.HGetAll(h.t.Context(), usersKey).Val(); state["Origin"] != "" && state["Origin"] != h.life {
		h.saved = state
	}
}

// move promotes a replica. The replication id changes, and the newest writes may be lost.
func (h *story) move(lose bool) {
	h.life = h.get(usersKey, "Origin")
	if lose && h.saved != nil {
		h.client.Del(h.t.Context(), usersKey)
		h.client.HSet(h.t.Context(), usersKey, h.saved)
	}
	h.saved = nil
	h.server.ChangeReplicationID()
}

// open returns a new client.
func (h *story) open() *storyClient {
	c := &storyClient{gateway: h.random.IntN(len(h.serving))}
	h.clients = append(h.clients, c)
	return c
}

// event performs a random event.
func (h *story) event() {
	if len(h.clients) == 0 {
		h.open()
	}
	i := h.random.IntN(len(h.clients))
	c := h.clients[i]
	switch h.random.IntN(40) {
	case 0, 1, 2:
		if len(h.clients) < 8 {
			h.open()
		}
	case 3, 4, 5:
		h.clients = append(h.clients[:i], h.clients[i+1:]...)
		h.end(c)
	case 6, 7:
		h.late()
	case 8:
		h.restart(h.random.IntN(len(h.serving)))
	case 9:
		h.save()
	case 10:
		if h.random.IntN(4) == 0 {
			h.move(h.random.IntN(2) == 0)
		}
	case 11, 12:
		h.idle()
	case 13:
		h.allocate()
	default:
		h.use(c, 1+h.random.IntN(40))
	}
}

// idle starts and ends clients that use at most one number, so that many ranges begin at the same number.
func (h *story) idle() {
	for range 1 + h.random.IntN(6) {
		c := &storyClient{gateway: h.random.IntN(len(h.serving)), size: []int64{0, 0, 0, 64, 1000}[h.random.IntN(5)]}
		h.next(c)
		h.use(c, h.random.IntN(2))
		h.end(c)
		if h.random.IntN(3) == 0 {
			h.restart(h.random.IntN(len(h.serving)))
		}
	}
	c := h.open()
	h.next(c)
	h.late()
}

// late repeats the returns of clients that ended, at any gateway.
func (h *story) late() {
	for i, c := range h.closed {
		if i > len(h.closed)-20 || h.random.IntN(20) == 0 {
			h.back(c, h.random.IntN(len(h.serving)))
		}
	}
	if len(h.closed) > 200 {
		h.closed = h.closed[100:]
	}
}

func TestGatewaysIssueNoNumberTwiceInRandomHistories(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		gateways int
		nodes    bool
	}{
		{"one gateway", 1, false},
		{"three gateways with --node", 3, true},
		{"two gateways that accept returns, against the advice", 2, false},
	} {
		redistest.Each(t, func(t *testing.T, s *redistest.Server) {
			seed := rand.Uint64()
			t.Logf("%s, seed %d", tt.name, seed)
			h := newStory(t, s, tt.gateways, tt.nodes, seed)
			for h.ids < *numbers {
				h.event()
			}
			if tt.nodes && h.taken > 0 {
				t.Errorf("got %d numbers taken back beside other gateways, want none", h.taken)
			}
			t.Logf("%d numbers used, %d of %d returned numbers taken back", h.ids, h.taken, h.returned)
		})
	}
}

// There is one client at a time, as in RavenDB's documentation. What it did not use is issued to the next one, even when the
// gateway is restarted often, at any time.
func TestReturnsAreMostlyAcceptedByAGatewayThatIsRestartedOften(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		h := newStory(t, s, 1, false, rand.Uint64())
		for h.ids < *numbers {
			c := h.open()
			for range 1 + h.random.IntN(4) {
				h.use(c, 1+h.random.IntN(20))
				if h.random.IntN(400) == 0 {
					h.kill()
				}
			}
			h.end(c)
			if h.random.IntN(4) == 0 {
				h.kill()
			}
			if h.random.IntN(10) == 0 {
				h.late()
			}
		}
		if h.taken < h.returned*95/100 {
			t.Errorf("got %d of %d returned numbers taken back, want at least 95 %%", h.taken, h.returned)
		}
		t.Logf("%d numbers used, %d of %d returned numbers taken back", h.ids, h.taken, h.returned)
	})
}
