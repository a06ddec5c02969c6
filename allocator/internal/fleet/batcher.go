package fleet

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/hilo-id/hilo/allocator/internal/failure"
	"github.com/hilo-id/hilo/scripts"
)

// maxCount bounds the numbers of one request.
const maxCount = 1 << 40

// Result is the answer to Take. Low is the first value, or 0 if Exact was refused. Issuer is set for server-side
// identifiers.
type Result struct {
	Low    int64
	Issuer *Issuer
	Err    error
}

// batcher combines concurrent requests for the values of one identity, or for server-side identifiers, of one server. One
// request is in flight at a time, for every caller that was waiting when it started. So a counter costs at most one round
// trip at a time, and each request sends the floor that the one before it left. A counter that is lost between two requests
// shows in the second.
type batcher struct {
	server *Server
	kind   Kind

	// mu guards what follows. It is never held during I/O. Fleet.mu is locked after it.
	mu      sync.Mutex
	waiting []*waiter
	// flushing reports that a goroutine sends requests for the waiting callers. It may be one of their own goroutines.
	flushing bool
}

// waiter is one caller. A request for a caller whose ctx has ended is not sent.
type waiter struct {
	Request
	ctx context.Context //nolint:containedctx // the caller's
	// result has a buffer, so that sending never blocks.
	result chan Result
}

// Take waits for the numbers of an identity or for server-side identifiers of s. All requests for a counter have the same Limit.
// Count is added up. If ctx ends, other callers are unaffected, and values already requested for this caller become a gap.
// After Close it is ErrClosed.
func (s *Server) Take(ctx context.Context, r Request) Result {
	w := &waiter{Request: r, ctx: ctx, result: make(chan Result, 1)}
	if ctx.Err() != nil {
		return Result{Err: failure.Ended(ctx, r.Name, nil)}
	}
	b := s.batcher(r)
	first, err := b.join(w)
	if err != nil {
		return Result{Err: err}
	}
	if first {
		b.start(ctx.Done() == nil) //nolint:contextcheck // a request serves callers of several contexts
	}
	select {
	case got := <-w.result:
		return got
	case <-ctx.Done():
		b.leave(w)
		return Result{Err: failure.Ended(ctx, r.Name, s.fleet.WhyWaiting(r.Kind, r.Name))}
	}
}

// leave removes a caller that gives up from those that wait.
func (b *batcher) leave(w *waiter) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.waiting, w); i >= 0 {
		b.waiting = slices.Delete(b.waiting, i, i+1)
	}
}

// batcher returns the batcher of the counter that r names, the same one each time for all spellings.
func (s *Server) batcher(r Request) *batcher {
	key := s.ScriptKeys(r).Counter
	b, ok := s.batchers.Load(key)
	if !ok {
		b, _ = s.batchers.LoadOrStore(key, &batcher{server: s, kind: r.Kind})
	}
	return b.(*batcher)
}

// join adds a waiter. first reports that nothing flushes yet, so that the caller has to.
func (b *batcher) join(w *waiter) (first bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if first = !b.flushing; first {
		f := b.server.fleet
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.closed {
			return false, fmt.Errorf("%s: %w", w.Name, failure.ErrClosed)
		}
		f.background.Add(1)
		b.flushing = true
	}
	b.waiting = append(b.waiting, w)
	return first, nil
}

// start flushes until no caller waits. inline reports that the caller never gives up: its own request is sent here, which saves
// two switches of goroutines. If that panics, such as in a hook of the client, the other callers are served all the same.
func (b *batcher) start(inline bool) {
	defer func() {
		if b.isWanted() {
			go b.run()
		}
	}()
	if inline {
		b.flush()
	}
}

// run flushes until no caller waits.
func (b *batcher) run() {
	for b.isWanted() {
		b.flush()
		runtime.Gosched() // callers that were served may return at once and share the next request
	}
}

// isWanted reports whether a caller waits. If none does, flushing ends.
func (b *batcher) isWanted() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.flushing = len(b.waiting) > 0; !b.flushing {
		b.server.fleet.background.Done()
	}
	return b.flushing
}

// flush sends one request for the callers that wait when it may be sent. If the ceiling of the counter has to be raised first, they
// go on waiting for that, while other counters are asked for.
func (b *batcher) flush() {
	if err := b.send(); err != nil {
		b.server.fleet.AwaitRaise(err)
	}
}

func (b *batcher) send() error {
	if b.kind == Identity {
		b.server.identitySlots <- struct{}{}
		defer func() { <-b.server.identitySlots }()
	}
	group, total := b.next()
	if len(group) == 0 {
		return nil
	}
	unserved, err := b.request(group, total)
	if err != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.waiting = append(unserved, b.waiting...)
	}
	return err
}

// next removes and returns the callers that one request serves, and how many values they want. These are the first one, and
// those after it that can share its request. A caller whose ctx has ended is removed and not returned.
func (b *batcher) next() (group []*waiter, total int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.waiting) > 0 {
		w := b.waiting[0]
		if w.ctx.Err() == nil {
			if len(group) > 0 && (w.Exact > 0 || group[0].Exact > 0 || w.Anywhere != group[0].Anywhere || w.Count > maxCount-total) {
				break
			}
			group = append(group, w)
			total += w.Count
		}
		b.waiting[0] = nil
		b.waiting = b.waiting[1:]
	}
	return group, total
}

// request sends one request for a group that wants total values, with the name as the first caller spells it. If the limit
// leaves too little for all of them, each one has a request of its own. A server in back-off is not asked. A *CeilingError is
// returned with the callers that have no result.
func (b *batcher) request(group []*waiter, total int64) (unserved []*waiter, err error) {
	r := group[0].Request
	r.Count, r.Last = total, true
	var reply Reply
	outcome := fmt.Errorf("%s: %w: the request panicked", r.Name, failure.ErrUnavailable) // unless it returns
	defer func() {
		low := reply.Low
		for _, w := range group {
			if outcome != nil {
				w.result <- Result{Err: outcome}
				continue
			}
			w.result <- Result{Low: low, Issuer: reply.Issuer}
			low += w.Count
		}
	}()
	reply, outcome = b.server.Issue(context.WithoutCancel(group[0].ctx), r)
	if errors.As(outcome, new(*CeilingError)) {
		unserved, group = group, nil
		return unserved, outcome
	}
	if errors.Is(outcome, scripts.ErrExhausted) && len(group) > 1 {
		each := group
		group = nil
		for i, w := range each {
			if _, err := b.request(each[i:i+1], w.Count); err != nil {
				return each[i:], err
			}
		}
	}
	return nil, nil
}
