package allocator

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// source is where ranges come from: a server, and what it added then. Ranges alike share one.
type source struct {
	server *server
	prefix.Server
}

// check is one asking of all other servers what they add, that began then. done is closed when err is set; failed says
// that it is an error, and is guarded by the server's mu.
type check struct {
	of     *source
	began  time.Duration
	done   chan struct{}
	err    error
	failed bool
}

// accept is the source of a range, or an error when identifiers made of it could be another server's too.
//
// No two masters give the same text, because of each two that add the same one learns of it before it gives: a server's
// word, from a range that it gave, stands written here before the others are asked, and so it does in the other
// allocator. Of two that change their word at the same time, the one that is asked about last has changed before. What
// is accepted is asked about again when it changes; what is not, for a request that was sent after it was asked about.
func (a *Allocator) accept(ctx context.Context, s *server, sent time.Duration, got scripts.Range) (*source, error) {
	says, err := s.hear(a.now(), prefix.Server{ServerPrefix: got.Prefix, NodeTag: got.Tag}, got.Origin)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	if s.accepted == says {
		s.mu.Unlock()
		return says, nil
	}
	if c := s.check; c != nil && c.of == says && (!c.failed || sent <= c.began) { // begun after the server said so
		s.mu.Unlock()
		<-c.done
		return says, c.err
	}
	c := &check{of: says, began: a.now(), done: make(chan struct{})}
	s.check = c
	changed := s.accepted != nil
	s.mu.Unlock()

	a.askOthers(ctx, s, changed)
	if c.err = ctx.Err(); c.err == nil {
		c.err = a.judge(says)
	}
	s.mu.Lock()
	if c.failed = c.err != nil; !c.failed {
		s.accepted = says
	}
	s.mu.Unlock()
	close(c.done)
	if c.err == nil && len(a.servers) > 1 {
		a.served.Store(true)
		a.standBy()
	}
	return says, c.err
}

// askOthers asks the servers beside s what they say of themselves. A range does not tell whether its server is the home
// of identities, so s is asked too, side by side with them, and waited for where another one says that it is the home.
//
// What those said last that were found away a moment ago still stands here, and they are asked when they are back. But
// where s changed its word, which is seldom, all are asked: one that is back may have changed its own too, and have been
// compared with the earlier one of s by others.
func (a *Allocator) askOthers(ctx context.Context, s *server, changed bool) {
	var others []*server
	for _, other := range a.servers {
		if other != s && (changed || !other.isLeft(a.now())) {
			others = append(others, other)
		}
	}
	if len(others) == 0 {
		return
	}
	own := make(chan struct{})
	a.mu.Lock()
	closing := a.closing
	if !closing {
		a.asking.Go(func() {
			defer close(own)
			a.askAll(ctx, []*server{s})
		})
	}
	a.mu.Unlock()
	a.askAll(ctx, others)
	if !closing && slices.ContainsFunc(others, func(other *server) bool { return other.word().home }) {
		<-own
	}
}

// hear takes note of what a server says that it adds.
func (s *server) hear(now time.Duration, says prefix.Server, origin string) (*source, error) {
	if err := says.Validate(); err != nil {
		return nil, fmt.Errorf("%w: key %s: %w", ErrCorrupt, s.keys.Server(), err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.origin, s.answered = origin, max(now, 1)
	if s.says == nil || s.says.Server != says {
		s.says = &source{server: s, Server: says}
	}
	return s.says, nil
}

// askAll asks servers what they say of themselves, side by side, for RefillTimeout at most.
func (a *Allocator) askAll(caller context.Context, servers []*server) {
	ctx, cancel := context.WithTimeout(caller, a.opts.RefillTimeout)
	defer cancel()
	var all sync.WaitGroup
	for _, s := range servers {
		all.Go(func() {
			asked := a.now()
			said, err := s.backend.describe(ctx, s.keys.Server())
			if caller.Err() != nil { // that says nothing about the server
				return
			}
			if err == nil {
				_, err = s.hear(a.now(), prefix.Server{ServerPrefix: said.Prefix, NodeTag: said.Tag}, said.Origin)
			}
			s.mu.Lock()
			if err == nil && asked >= s.homeAsked {
				s.home, s.homeAsked = said.Identities, asked
			}
			was := s.down
			s.mu.Unlock()
			switch {
			case err != nil && was == nil:
				s.put(a.now(), away{err})
			case err == nil && isAway(was): // what else it is down for, an attempt shows
				s.put(a.now(), nil)
			}
		})
	}
	all.Wait()
}

// away is why a server could not say what it adds.
type away struct{ error }

func (a away) Unwrap() error { return a.error }

func isAway(err error) bool { return errors.As(err, new(away)) }

// word is what one server says of itself, as it is known here. The source is nil where it is not known.
type word struct {
	*server
	*source
	accepted, home bool
	origin         string
	down           error
}

func (s *server) word() word {
	s.mu.Lock()
	defer s.mu.Unlock()
	return word{server: s, source: s.says, accepted: s.accepted == s.says, home: s.home, origin: s.origin, down: s.down}
}

// judge reports why no identifier of that source may be given beside those of the other servers; nil: of none that is
// given now. Before the first identifier it looks at all of them: that two clash is then an error in the settings,
// whoever is asked first.
func (a *Allocator) judge(of *source) error {
	first := !a.served.Load()
	words := make([]word, len(a.servers))
	for i, server := range a.servers {
		words[i] = server.word()
		if of != nil && server == of.server {
			words[i].source = of // somebody may have heard another word since
		}
	}
	for i, w := range words {
		if w.source == nil || !first && w.source != of {
			continue
		}
		if w.pinned != "" && w.pinned != w.ServerPrefix {
			return fmt.Errorf("%w: key %s has ServerPrefix %q, and the settings say %q", ErrPrefixConflict, w.keys.Server(), w.ServerPrefix, w.pinned)
		}
		if len(words) > 1 && w.IsZero() {
			return fmt.Errorf("%w: key %s on %s: each of several servers needs a prefix or tag", ErrPrefixMissing, w.keys.Server(), w.name)
		}
		for j, other := range words {
			if i == j || other.source == nil || first && j < i {
				continue
			}
			if err := w.clash(other, first); err != nil {
				return err
			}
		}
	}
	return nil
}

// clash reports why two servers could give the same identifier; homes: also an identity.
func (w word) clash(other word, homes bool) error {
	switch {
	case w.origin != "" && w.origin == other.origin && w.namespace == other.namespace:
		return fmt.Errorf("%w: %s and %s are one: same replication id, same namespace %q", ErrPrefixConflict, w.name, other.name, w.namespace)
	case w.SameAs(other.Server):
		return fmt.Errorf("%w: %s and %s both have prefix %q and tag %q, letter case aside", ErrPrefixConflict, w.name, other.name, w.ServerPrefix, w.NodeTag)
	case homes && w.home && other.home:
		return twoHomes(w, other)
	}
	return nil
}

// inTime has the error of a server that clashes with another end every refill until there was an identifier: it is in
// the settings. Later it is the server's own, which was emptied or set wrong, and is left for the others like one that
// fails.
func (a *Allocator) inTime(err error) error {
	if clashes(err) && len(a.servers) > 1 && a.served.Load() {
		return left{err}
	}
	return err
}

// standbyEvery is how often all servers are asked about: one that is not used, so that somebody hears that it is away,
// or clashes, before it is needed; one that is, since ranges do not tell which server is the home of identities.
const standbyEvery = 10 * time.Second

// standBy has the servers asked about, from now on. The first time is at once, so that their words are accepted.
func (a *Allocator) standBy() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.standby == nil && !a.closing {
		a.standby = time.AfterFunc(0, a.lookAround)
	}
}

// untilStandby is spread over a fifth, so that a fleet does not ask in step.
func untilStandby() time.Duration {
	return standbyEvery - standbyEvery/10 + rand.N(standbyEvery/5)
}

// lookAround asks about the servers.
func (a *Allocator) lookAround() {
	a.mu.Lock()
	if a.closing {
		a.mu.Unlock()
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	a.unlook = cancel
	a.asking.Add(1)
	a.mu.Unlock()
	defer a.asking.Done()
	defer cancel()

	now := a.now()
	heard := make(map[*server]*source)
	for _, s := range a.servers {
		if w := s.word(); w.source != nil && !w.accepted {
			heard[s] = w.source
		}
	}
	a.askAll(ctx, a.servers)
	a.judgeAll(heard, now)
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closing {
		a.standby.Reset(untilStandby())
	}
}

// judgeAll leaves servers that clash with another, and asks those again that do so no more. One whose word was heard
// before all servers were asked, at since, and which said the same again, is accepted as by a range: a server whose
// word becomes the same later is the one that is left. One that is in use is accepted as it is: its next range shows
// what it says then.
func (a *Allocator) judgeAll(heard map[*server]*source, since time.Duration) {
	for _, s := range a.servers {
		w := s.word()
		if w.source == nil || w.accepted {
			continue
		}
		err := a.inTime(a.judge(w.source))
		if err != nil || clashes(w.down) {
			s.put(a.now(), err)
		}
		s.mu.Lock()
		if err == nil && s.says == heard[s] && s.answered >= since {
			s.accepted = s.says
		}
		s.mu.Unlock()
	}
}
