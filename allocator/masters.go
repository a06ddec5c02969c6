package allocator

import (
	"context"
	"errors"
	"fmt"
	"maps"
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

// check is one asking of the servers what they add, that began then. err is what it ends with; it is read when done is
// closed, or with the server's mu held.
type check struct {
	of    *source
	began time.Duration
	done  chan struct{}
	err   error
}

// accept is the source of a range, or an error when identifiers made of it could be another server's too.
//
// No two masters give the same text, because of each two that add the same one learns of it before it gives: a server's
// word, from a range that it gave, stands written here before the others are asked, and so it does in the other
// allocator. Of two that change their word at the same time, the one that is asked about last has changed before. The
// server itself has to say it again when the others have answered: they may have been set right since the range was
// given, and so may it, while the range was late. What is accepted is asked about again when it changes; what is not, for
// a request that was sent after it was asked about.
func (a *Allocator) accept(ctx context.Context, s *server, sent time.Duration, got scripts.Range) (*source, error) {
	says, err := s.hear(sent, a.now(), prefix.Server{ServerPrefix: got.Prefix, NodeTag: got.Tag}, got.Origin)
	if err != nil {
		return nil, err
	}
	several := len(a.servers) > 1
	s.mu.Lock()
	if s.accepted == says {
		s.mu.Unlock()
		return says, nil
	}
	if several && s.says != says {
		s.mu.Unlock()
		return nil, s.stale()
	}
	if c := s.check; c != nil && c.of == says && (c.err == nil || sent <= c.began) { // begun after the server said so
		s.mu.Unlock()
		<-c.done
		return says, c.err
	}
	c := &check{of: says, began: a.now(), done: make(chan struct{})}
	s.check = c
	s.mu.Unlock()

	var again time.Duration
	if several {
		a.askAll(ctx, slices.DeleteFunc(slices.Clone(a.servers), func(other *server) bool { return other == s }))
		again = a.now()
		a.askAll(ctx, []*server{s})
	}
	if err = ctx.Err(); err == nil {
		err = a.judge(says)
	}
	s.mu.Lock()
	if err == nil && several && (s.says != says || s.saidAsked < again) {
		err = s.stale()
	}
	if c.err = err; err == nil {
		s.accepted = says
	}
	s.mu.Unlock()
	close(c.done)
	if err == nil && several {
		a.served.Store(true)
		a.standBy()
	}
	return says, err
}

// stale is the error of a range whose word the server has not said again.
func (s *server) stale() error {
	return fmt.Errorf("%w: key %s: the server has not said again what it said with a range, which is discarded", ErrUnavailable, s.keys.Server())
}

// hear takes note of what a server says that it adds, in an answer to what it was asked then. One that was asked for
// earlier than what was heard last may be of before a change: where it differs it is not noted.
func (s *server) hear(asked, now time.Duration, adds prefix.Server, origin string) (*source, error) {
	if err := adds.Validate(); err != nil {
		return nil, fmt.Errorf("%w: key %s: %w", ErrCorrupt, s.keys.Server(), err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answered = max(now, 1)
	says := s.says
	if says == nil || says.Server != adds {
		says = &source{server: s, Server: adds}
	}
	if asked >= s.saidAsked {
		s.says, s.origin, s.saidAsked = says, origin, asked
	}
	return says, nil
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
			now := a.now()
			if err == nil {
				_, err = s.hear(asked, now, prefix.Server{ServerPrefix: said.Prefix, NodeTag: said.Tag}, said.Origin)
			}
			s.mu.Lock()
			if err == nil && asked >= s.homeAsked {
				s.home, s.homeAsked = said.Identities, asked
			}
			was := s.down
			s.mu.Unlock()
			switch {
			case err != nil && !s.isLeft(now):
				s.put(now, away{err})
			case err == nil && isAway(was): // what else it is down for, an attempt shows
				s.put(now, nil)
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
		a.standby = time.AfterFunc(0, func() { a.aside(a.lookAround) })
	}
}

// lookAround asks about the servers, and once more about those whose word may be accepted for what the others say.
func (a *Allocator) lookAround() {
	heard := make(map[*server]*source)
	for _, s := range a.servers {
		if w := s.word(); w.source != nil && !w.accepted {
			heard[s] = w.source
		}
	}
	a.askAll(a.background, a.servers)
	again := a.now()
	a.askAll(a.background, slices.Collect(maps.Keys(heard)))
	a.judgeAll(heard, again)
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closing {
		a.standby.Reset(standbyEvery - standbyEvery/10 + rand.N(standbyEvery/5)) // a fleet does not ask in step
	}
}

// judgeAll leaves servers that clash with another, and asks those again that do so no more. One whose word was heard
// before all servers were asked, and that said it again when asked after they had answered, from since on, is accepted as
// by a range: a server whose word becomes the same later is the one that is left. One that is in use is accepted as it
// is: its next range shows what it says then.
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
		if err == nil && s.says == heard[s] && s.saidAsked >= since {
			s.accepted = s.says
		}
		s.mu.Unlock()
	}
}
