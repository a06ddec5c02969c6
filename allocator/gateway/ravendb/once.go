package ravendb

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/scripts"
)

const (
	// maxAnswers bounds the requests with an id of their own that are remembered, of each kind.
	maxAnswers = 100_000
	// identityMemory is how long the answer to a request for an identity is kept, and seedMemory that to a forced seed.
	identityMemory = 10 * time.Minute
	seedMemory     = 11 * time.Minute // ten, and one for the request itself
)

// errTooManySeeds is the error of a forced seed that could not be remembered.
var errTooManySeeds = fmt.Errorf("%w: too many forced seeds: each is remembered for ten minutes so that it acts once; repeat the request later", allocator.ErrUnavailable)

// requestID is a digest of the id of a request and its parameters, or zero for a request without an id. Clients choose the length of
// both, so they are not kept.
type requestID [sha256.Size]byte

// answers returns to a request that is repeated the answer that it got before, or the one in flight.
type answers struct {
	max    int
	memory time.Duration
	// full is the error of a new request while max requests are remembered. If it is nil, the oldest one is dropped.
	full error

	mu    sync.Mutex // guards what follows
	byID  map[requestID]*answer
	order []*answer // by time; one that was replaced in byID counts too
}

// answer is the answer to one request.
type answer struct {
	id    requestID
	done  chan struct{} // closed when value and err are set
	at    time.Time
	value int64
	err   error
	// expected is the state that a forced seed found at its first attempt. An attempt that failed may have acted all the
	// same. If a later attempt read the state again, it would lower numbers that were issued in between.
	expected *scripts.Standing
}

func (a *answer) failed() bool {
	select {
	case <-a.done:
		return a.err != nil
	default:
		return false
	}
}

// do calls ask once for each id, and again if it failed. It always calls it for the zero id. If ctx ends, a caller that waits for
// another one's answer gives up.
func (a *answers) do(ctx context.Context, id requestID, ask func(*answer) (int64, error)) (int64, error) {
	if id == (requestID{}) {
		return ask(new(answer))
	}
	known, first, err := a.remember(id, time.Now())
	if err != nil {
		return 0, err
	}
	if first {
		defer close(known.done)
		known.err = fmt.Errorf("%w: the request panicked", allocator.ErrUnavailable) // unless it returns
		known.value, known.err = ask(known)
		return known.value, known.err
	}
	select {
	case <-known.done:
		return known.value, known.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// remember returns the answer for id. first reports that the caller has to ask for it.
func (a *answers) remember(id requestID, now time.Time) (known *answer, first bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.order) > 0 && now.Sub(a.order[0].at) >= a.memory {
		a.dropOldest()
	}
	before, ok := a.byID[id]
	if ok && !before.failed() {
		return before, false, nil
	}
	if len(a.order) >= a.max {
		if a.full != nil {
			return nil, false, a.full
		}
		a.dropOldest()
	}
	known = &answer{id: id, done: make(chan struct{}), at: now}
	if ok {
		known.expected = before.expected
	}
	if a.byID == nil {
		a.byID = make(map[requestID]*answer)
	}
	a.byID[id] = known
	a.order = append(a.order, known)
	return known, true, nil
}

// dropOldest drops the oldest answer, with mu held.
func (a *answers) dropOldest() {
	oldest := a.order[0]
	a.order = a.order[1:]
	if a.byID[oldest.id] == oldest {
		delete(a.byID, oldest.id)
	}
}
