package allocator

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hilo-id/hilo/allocator/internal/fleet"
)

// Collection issues the identifiers of one collection. It is safe for concurrent use. While numbers are in hand, each of its
// methods costs one atomic addition and takes no lock. A ctx matters only when a caller has to wait for Redis.
//
// Its methods return ErrClosed, ErrUnavailable, ErrExhausted, ErrNotSeeded, ErrMixed, ErrUnguarded, ErrPrefixMissing,
// ErrPrefixConflict, ErrNotDurable and ErrCorrupt. When ctx ended first the error matches both ctx.Err() and one of these.
type Collection struct {
	// cur is the range in use, none before the first one.
	cur atomic.Pointer[span]
	// several reports that there is more than one server, so that a number alone is not unique.
	several bool
	// closed reports that no refill starts any more, and sealed that the ranges in hand were ended. mu guards them. They stand
	// here because they need no space of their own.
	closed, sealed bool
	a              *shared
	// name is the collection as the caller spells it. All spellings share a counter.
	name string
	// waits counts calls that found nothing in hand.
	waits atomic.Int64

	// mu guards what follows, closed, sealed, and every store to cur. Hot callers do not lock it, but load cur
	// and count on the span. It is never held during I/O.
	mu sync.Mutex
	// ahead are the ranges that were fetched and are not in use yet, the oldest first.
	ahead []*span
	// refill is the one refill in flight, or nil.
	refill *refill
	// waiters are the callers of Take that wait for a range, in order of arrival.
	waiters []*waiter
	// sent is the request without a reply so far, or nil.
	sent *request
	// capacity is the capacity of the newest range, 0 before the first one, and asked the time of its request.
	capacity int64
	asked    time.Duration
	demand   demand
	// failed is why the latest refill failed, nil after a range. backoff follows refusals of this collection's requests.
	failed  error
	backoff fleet.Backoff
	tally   tally
}

// Name returns the collection as the caller spells it.
func (c *Collection) Name() string { return c.name }

// shared is the part of an Allocator that its collections use.
type shared struct {
	opts  Options
	fleet *fleet.Fleet
	// horizon is how long numbers are held. It is the Runway and the longest time until a recovered server is found, which is
	// an attempt in flight that fails and the back-off after it.
	horizon time.Duration
	// refillSlots bounds the refills that are sent at the same time, however many collections there are. refilling waits for
	// their goroutines.
	refillSlots chan struct{}
	refilling   sync.WaitGroup
}

// maxRefills is the capacity of refillSlots.
const maxRefills = 32

// request is the part of a request that stays the same when it is repeated. size is in numbers. capacity is the result of
// nextCapacity, or 0 if Take requested a size of its own.
type request struct {
	to       *fleet.Server
	token    string
	size     int64
	capacity int64
	at       time.Duration
}

// refill is one refill, shared by all callers that wait for it. Collection.mu guards it until done is closed at its end. err
// is set before that and is why there is no range. timer starts it after the back-off. callers wait for one number each.
type refill struct {
	done    chan struct{}
	err     error
	timer   *time.Timer
	callers atomic.Int64
}

// waiter is a caller of Take that waits for a range. got has a buffer, so that sending never blocks.
type waiter struct {
	n   int64
	got chan result
}

type result struct {
	batch Batch
	err   error
}

// tally counts numbers and events besides the ranges in hand. Nothing is counted on the hot path, where the cursor of a
// range shows how many numbers it issued.
type tally struct {
	// ranges were received, with reserved numbers in them.
	ranges   int64
	reserved int64
	// used counts the numbers of ranges in hand that were used up. apart counts the numbers of ranges that one caller of Take
	// received as a whole.
	used  int64
	apart int64
	// returning numbers were sealed by Close, and their return is not confirmed yet. returned ones were confirmed.
	returning int64
	returned  int64
	// With their back-off failures do not come near 2^32, and a collection should be small.
	failures uint32
	jumps    uint32
}

// add counts a range of that size, whether it is going to be used or not.
func (t *tally) add(size int64) {
	t.ranges++
	t.reserved += size
}

// spans returns the ranges in hand, the oldest first, with mu held.
func (c *Collection) spans() []*span {
	if cur := c.cur.Load(); cur != none {
		return append([]*span{cur}, c.ahead...)
	}
	return c.ahead
}

// registry finds collections by the spelling of their name. Collections are added with Allocator.mu held, so that no name
// is added twice, and are never removed. find takes no lock. all has the *Collection of each spelling.
type registry struct {
	all sync.Map
	// first has the first collection of each slot, because a program has few names and looks one up for each identifier. An
	// entry never changes, so its cache line stays shared. Through all alone a look-up takes 11 ns more.
	first [64]atomic.Pointer[Collection]
}

func (r *registry) slot(name string) *atomic.Pointer[Collection] {
	if name == "" {
		return &r.first[0]
	}
	n := uint(len(name))
	return &r.first[(n*7+uint(name[0])*5+uint(name[n/2])*3+uint(name[n-1]))%uint(len(r.first))]
}

func (r *registry) find(name string) (*Collection, bool) {
	if c := r.slot(name).Load(); c != nil && c.name == name {
		return c, true
	}
	if c, ok := r.all.Load(name); ok {
		return c.(*Collection), true
	}
	return nil, false
}

func (r *registry) add(c *Collection) {
	r.all.Store(c.name, c)
	r.slot(c.name).CompareAndSwap(nil, c)
}

func (r *registry) each(f func(*Collection)) {
	r.all.Range(func(_, c any) bool {
		f(c.(*Collection))
		return true
	})
}
