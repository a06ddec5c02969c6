package ravendb

import (
	"context"
	"sync"
	"time"

	"github.com/hilo-id/hilo/scripts"
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
	order []string // as they came
}

// answer is what one request gets.
type answer struct {
	done  chan struct{} // closed when value and err are there
	at    time.Time
	value int64
	err   error
	// expected is what a forced seed found when it was asked first. One that failed may have acted all the same: who reads
	// again what stands would take what was given since for what is to be lowered.
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

// do gives what ask gives, once for each id; "" is asked each time. What failed
// is asked again. The one who waits for another's answer leaves with ctx.
func (a *answers) do(ctx context.Context, id string, ask func(*answer) (int64, error)) (int64, error) {
	if id == "" {
		return ask(new(answer))
	}
	a.mu.Lock()
	a.forget(time.Now())
	known, ok := a.byID[id]
	if !ok {
		known = &answer{done: make(chan struct{}), at: time.Now()}
		if a.byID == nil {
			a.byID = make(map[string]*answer)
		}
		a.order = append(a.order, id)
	} else if known.failed() {
		known, ok = &answer{done: make(chan struct{}), at: known.at, expected: known.expected}, false
	}
	a.byID[id] = known
	a.mu.Unlock()
	if ok {
		select {
		case <-known.done:
			return known.value, known.err
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	known.value, known.err = ask(known)
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
