package ravendb

import (
	"crypto/sha256"
	"sync"
	"time"
)

// requestID is a digest of the id of a request and its parameters, or zero for a request without an id. Clients choose the length of
// both, so they are not kept.
type requestID [sha256.Size]byte

const (
	// maxAnswers is the number of requests that are remembered, and answerMemory for how long.
	maxAnswers   = 100_000
	answerMemory = time.Minute
)

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
	// found is the value that a forced seed found at its first attempt, or nil.
	found *int64
}

// get returns the answer for an id, which is new if there was none in the last minute.
func (a *answers) get(id requestID) *answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	for len(a.order) > 0 && (len(a.order) >= maxAnswers || now.Sub(a.byID[a.order[0]].since) >= answerMemory) {
		delete(a.byID, a.order[0])
		a.order = a.order[1:]
	}
	if known, ok := a.byID[id]; ok {
		return known
	}
	known := &answer{since: now}
	if id != (requestID{}) {
		if a.byID == nil {
			a.byID = make(map[requestID]*answer)
		}
		a.byID[id] = known
		a.order = append(a.order, id)
	}
	return known
}

// do returns the value of the first call of ask that succeeds.
func (a *answer) do(ask func() (int64, error)) (_ int64, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.known {
		a.value, err = ask()
		a.known = err == nil
	}
	return a.value, err
}
