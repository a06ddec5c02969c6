package ravendb

import (
	"crypto/sha256"
	"sync"
	"time"
)

const (
	// maxAnswers is the number of requests that are remembered, and answerMemory for how long.
	maxAnswers   = 100_000
	answerMemory = time.Minute
)

// requestID is a digest of the id of a request and its parameters, whose lengths clients choose, or zero for a request without an id.
type requestID [sha256.Size]byte

// answers returns to a request that is repeated the answer that it got before.
type answers struct {
	mu    sync.Mutex // guards what follows
	byID  map[requestID]*answer
	order []requestID
}

// answer is the answer to one request.
type answer struct {
	since time.Time

	mu    sync.Mutex // held while the request is in flight; guards what follows
	known bool
	value int64
}

// do returns the value of the first call of ask for this id that succeeds.
func (a *answers) do(id requestID, ask func() (int64, error)) (_ int64, err error) {
	if id == (requestID{}) {
		return ask()
	}
	one := a.get(id, time.Now())
	one.mu.Lock()
	defer one.mu.Unlock()
	if !one.known {
		one.value, err = ask()
		one.known = err == nil
	}
	return one.value, err
}

// get returns the answer for an id, which is new if there was none in the last minute.
func (a *answers) get(id requestID, now time.Time) *answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.order) > 0 && (len(a.order) >= maxAnswers || now.Sub(a.byID[a.order[0]].since) >= answerMemory) {
		delete(a.byID, a.order[0])
		a.order = a.order[1:]
	}
	if a.byID[id] == nil {
		a.byID[id] = &answer{since: now}
		a.order = append(a.order, id)
	}
	return a.byID[id]
}
