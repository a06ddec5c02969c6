package ravendb

import (
	"context"
	"sync"
	"time"
)

const (
	// mostAnswers and answersLast bound what is remembered of requests that
	// carry an id of their own.
	mostAnswers = 100_000
	answersLast = 10 * time.Minute
)

// answers gives a request that is sent again the answer that it got before, or
// the one that is on its way. The zero value is ready for use.
type answers struct {
	mu    sync.Mutex // guards what follows
	byID  map[string]*answer
	order []string // as they came, with those that failed
}

// answer is what one request gets.
type answer struct {
	done  chan struct{} // closed when value and err are there
	at    time.Time
	value int64
	err   error
}

// do gives what ask gives, once for each id; "" is asked each time. What failed
// is asked again. The one who waits for another's answer leaves with ctx.
func (a *answers) do(ctx context.Context, id string, ask func() (int64, error)) (int64, error) {
	if id == "" {
		return ask()
	}
	a.mu.Lock()
	a.forget(time.Now())
	known, ok := a.byID[id]
	if !ok {
		known = &answer{done: make(chan struct{}), at: time.Now()}
		if a.byID == nil {
			a.byID = make(map[string]*answer)
		}
		a.byID[id] = known
		a.order = append(a.order, id)
	}
	a.mu.Unlock()
	if ok {
		select {
		case <-known.done:
			return known.value, known.err
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	known.value, known.err = ask()
	if known.err != nil {
		a.mu.Lock()
		if a.byID[id] == known {
			delete(a.byID, id)
		}
		a.mu.Unlock()
	}
	close(known.done)
	return known.value, known.err
}

// forget drops what is too old or too much, with mu held.
func (a *answers) forget(now time.Time) {
	for len(a.order) > 0 {
		oldest, ok := a.byID[a.order[0]]
		if ok && len(a.order) < mostAnswers && now.Sub(oldest.at) < answersLast {
			return
		}
		delete(a.byID, a.order[0])
		a.order = a.order[1:]
	}
}
