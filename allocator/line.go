package allocator

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/hilo-id/hilo/allocator/internal/memory"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// line is those who wait for values of one identity of one server, or of its counter of server-side identifiers. One
// request is under way at a time, for all who were waiting when it began: so a number costs a round trip no more than
// once at a time, and each request knows the floor that the one before left. A counter that is lost between two
// requests shows to the second.
type line struct {
	a      *Allocator
	server *server
	keys   scripts.Keys
	limit  int64
	// told is guarded by server.mu.
	told memory.Counter

	// mu guards what follows. It is never held during I/O.
	mu      sync.Mutex
	waiting []*asker
	// asking says that a goroutine serves the line. cancel ends its request under way, nil where there is none.
	asking bool
	cancel context.CancelFunc
	// crowd says that the latest request was for several callers.
	crowd bool
}

// asker is one caller in a line, with the name as the caller spells it. It wants count consecutive values or, where
// very is not 0, that one value in place of the next ones; anywhere: also of a server that is not the home of
// identities.
type asker struct {
	ctx      context.Context //nolint:containedctx // the caller's: who left is not asked for
	name     string
	count    int64
	very     int64
	anywhere bool
	// got has a buffer, so that nobody who gives waits.
	got chan asked
}

// asked is what an asker gets, out of the range from; of a server-side identifier with its source. low is 0 where the
// very value was refused.
type asked struct {
	low    int64
	from   scripts.Range
	source *source
	err    error
}

// lineKey names a line: all spellings of a name share it.
type lineKey struct {
	server *server
	key    string
}

// lineOf finds the line of a counter.
func (a *Allocator) lineOf(s *server, keys scripts.Keys, limit int64) *line {
	key := lineKey{s, keys.Counter}
	l, ok := a.lines.Load(key)
	if !ok {
		l, _ = a.lines.LoadOrStore(key, &line{a: a, server: s, keys: keys, limit: limit})
	}
	return l.(*line)
}

// asksAtOnce bounds the requests for identities that are under way at a server, so that those beyond wait in their own
// time and not in an attempt's, for a connection. Those for server-side identifiers, one at a time, do not count.
const asksAtOnce = 16

// serverSide reports whether the line is for server-side identifiers, which have no other kind of their name.
func (l *line) serverSide() bool { return l.keys.Other == l.keys.Server }

// ask has the caller wait in line. Who leaves harms nobody: what was asked for him by then is a gap.
func (l *line) ask(ctx context.Context, w *asker) asked {
	w.ctx, w.got = ctx, make(chan asked, 1)
	if ctx.Err() != nil {
		return asked{err: ended(ctx, w.name, nil)}
	}
	served, crowd, err := l.join(w)
	if err != nil {
		return asked{err: err}
	}
	if !served && !crowd && ctx.Done() == nil { // it is alone, and cannot leave: no goroutine has to stand in between
		l.turn() //nolint:contextcheck // a request knows the callers that it is for
		served = !l.more()
	}
	if !served {
		go l.serve() //nolint:contextcheck // likewise
	}
	select {
	case got := <-w.got:
		return got
	case <-ctx.Done():
		return asked{err: ended(ctx, w.name, nil)}
	}
}

// join tells whether somebody serves the line already. If not, the caller is to have it served; where others were there
// a moment ago, by a goroutine, which gives them the time to come again.
func (l *line) join(w *asker) (served, crowd bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if served = l.asking; !served {
		l.a.mu.Lock()
		defer l.a.mu.Unlock()
		if l.a.closing {
			return false, false, fmt.Errorf("%s: %w", w.name, ErrClosed)
		}
		l.asking = true
		l.a.asking.Add(1)
	}
	l.waiting = append(l.waiting, w)
	return served, l.crowd, nil
}

// serve asks until nobody waits.
func (l *line) serve() {
	for l.more() {
		l.turn()
		runtime.Gosched() // who was served may come again at once, and share the next request
	}
}

// more tells whether anybody waits. Where nobody does, the line is served no longer.
func (l *line) more() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asking = len(l.waiting) > 0; !l.asking {
		l.a.asking.Done()
	}
	return l.asking
}

// turn asks once, for those who wait then.
func (l *line) turn() {
	if !l.serverSide() {
		l.server.asks <- struct{}{}
		defer func() { <-l.server.asks }()
	}
	group, closing := l.next()
	switch {
	case closing:
		for _, w := range group {
			w.got <- asked{err: fmt.Errorf("%s: %w", w.name, ErrClosed)}
		}
	case len(group) > 0:
		l.request(group)
	}
}

// next is the callers that one request serves: the first one and those behind it that are alike, as long as they are
// still there.
func (l *line) next() (group []*asker, closing bool) {
	l.a.mu.Lock()
	closing = l.a.closing
	l.a.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	var total int64
	for len(l.waiting) > 0 {
		w := l.waiting[0]
		if w.ctx.Err() == nil {
			if len(group) > 0 && (w.very > 0 || group[0].very > 0 || w.anywhere != group[0].anywhere || w.count > largestRange-total) {
				break
			}
			group = append(group, w)
			total += w.count
		}
		l.waiting[0] = nil
		l.waiting = l.waiting[1:]
	}
	l.crowd = len(group) > 1
	return group, closing
}

// request asks once for a group. Where the limit leaves too little for all of them, each one is asked for by itself.
func (l *line) request(group []*asker) {
	var total int64
	for _, w := range group {
		total += w.count
	}
	got, from, err := l.send(group[0], total)
	if errors.Is(err, ErrExhausted) && len(group) > 1 {
		for _, w := range group {
			l.request([]*asker{w})
		}
		return
	}
	low := got.Low
	for _, w := range group {
		w.got <- asked{low: low, from: got, source: from, err: err}
		low += w.count
	}
}

// send is one attempt. Of server-side identifiers it gives the source too: they say where they are from.
func (l *line) send(w *asker, count int64) (got scripts.Range, from *source, err error) {
	a, s := l.a, l.server
	uncalled, callOff := context.WithCancel(context.WithoutCancel(w.ctx))
	defer callOff()
	l.mu.Lock()
	l.cancel = callOff
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(uncalled, a.opts.attemptTimeout())
	defer cancel()
	began := a.now()
	known := s.recall(&l.told)
	got, err = s.backend.identity(ctx, l.keys, scripts.IdentityRequest{
		Token:         rand.Text(),
		Name:          w.name,
		Count:         count,
		Raise:         w.very,
		Limit:         l.limit,
		Floor:         known.Floor,
		Epoch:         known.Epoch,
		Lowered:       known.Lowered,
		GuardGap:      a.opts.GuardGap,
		LeastGap:      known.LeastGap(began),
		RequireSeeded: a.opts.RequireSeeded,
		RequirePrefix: a.opts.RequirePrefix || len(a.servers) > 1,
		Anywhere:      w.anywhere,
	})
	now := a.now()
	if got.Low > 0 { // also where it was not confirmed
		s.remember(&l.told, now, got)
	}
	if got.Evidence != "" {
		s.jumped(l.keys.Counter, got)
	}
	if err == nil && l.serverSide() {
		from, err = a.accept(uncalled, s, began, got)
	} else if c, ok := a.byName.find(prefix.Fold(w.name)); ok && err == nil {
		err = s.onlyKind(l.keys.Counter, got, &c.counter.told[s.index])
	}
	err = a.inTime(err)
	if err != nil && errors.Is(uncalled.Err(), context.Canceled) { // called off by Close: it says nothing about the server
		return scripts.Range{}, nil, fmt.Errorf("%s: %w", w.name, ErrClosed)
	}
	s.count(&s.identities, now-began, err)
	s.report(a.now(), err, !l.serverSide())
	if err != nil {
		return scripts.Range{}, nil, s.failed(w.name, err)
	}
	return got, from, nil
}

// abort cancels the request under way, if there is one.
func (l *line) abort() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cancel != nil {
		l.cancel()
	}
}
