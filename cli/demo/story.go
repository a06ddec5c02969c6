package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/proof"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/fleet"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/cli/internal/term"
	"github.com/hilo-id/hilo/prefix"
)

// story is the course of a demo, and what its workers were given.
type story struct {
	demo
	outcome
	masters []*master // north, which is preferred, and south
	start   time.Time
	fleet   []*member

	mu     sync.Mutex // guards what follows, and the figures of outcome
	ledger proof.Ledger
}

// member is one worker of the fleet.
type member struct {
	number    int // from 1
	preferred *master
	newest    atomic.Pointer[string] // of the first collection
}

// tell runs the fleet from its start to its end.
func (s *story) tell(ctx context.Context) error {
	working, end := context.WithCancelCause(ctx)
	defer end(nil)
	var running sync.WaitGroup
	for i := range workers {
		w := &member{number: i + 1, preferred: s.masters[i%2]}
		s.fleet = append(s.fleet, w)
		running.Go(func() {
			if err := s.work(working, w); err != nil {
				end(err)
			}
		})
	}
	err := s.acts(working)
	end(nil)
	running.Wait()
	if err != nil {
		return err
	}
	s.say("all workers end, and return what they reserved and did not use")
	return s.runAlone(ctx)
}

// acts is what happens to the masters meanwhile.
func (s *story) acts(ctx context.Context) error {
	north, south := s.masters[0], s.masters[1]
	steps := []struct {
		before func() error
		say    string
		until  *master // whose identifiers all workers get in the end, nil: those of the one that each prefers
		then   string
	}{
		{nil, "", nil, "%s"},
		{func() error { north.server.Close(); return nil }, "north is lost", south, "what was held from north is used up, and all are on south: %s"},
		{north.server.Restart, "north is back", nil, "those that prefer north are on north again: %s"},
	}
	s.say("%d workers on two masters, half of them prefer north", workers)
	for _, step := range steps {
		if step.before != nil {
			if err := step.before(); err != nil {
				return err
			}
			s.say("%s", step.say)
		}
		if err := s.await(ctx, step.until); err != nil {
			return err
		}
		// The newest identifiers of two workers that prefer different masters.
		s.say(step.then, fmt.Sprintf("worker 1 has %s, worker 2 %s", *s.fleet[0].newest.Load(), *s.fleet[1].newest.Load()))
		if base.Sleep(ctx, act); ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// say tells a moment, to a person at once.
func (s *story) say(what string, values ...any) {
	e := event{time.Since(s.start).Seconds(), fmt.Sprintf(what, values...)}
	s.Events = append(s.Events, e)
	if !s.JSON {
		const margin = 9
		fmt.Fprintln(s.Stdout, term.Wrap(fmt.Sprintf("%5.2f s  %s", e.Seconds, e.What), term.Width(s.Stdout), margin))
	}
}

// await returns when each worker got its newest identifier from a master, nil meaning the one that it prefers.
func (s *story) await(ctx context.Context, from *master) error {
	deadline := time.Now().Add(patience)
	for _, w := range s.fleet {
		wanted := from
		if wanted == nil {
			wanted = w.preferred
		}
		for newest := w.newest.Load(); newest == nil || !strings.Contains(*newest, wanted.prefix); newest = w.newest.Load() {
			if time.Now().After(deadline) {
				return fmt.Errorf("worker %d got no identifier from %s within %v", w.number, wanted.Name, patience)
			}
			if base.Sleep(ctx, 10*time.Millisecond); ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
	}
	return nil
}

// allocate lends do an allocator on both masters, as a program of its own would have it.
func (s *story) allocate(ctx context.Context, preferred *master, opts allocator.Options, do func(*allocator.Allocator) error) error {
	var servers target.Servers
	for _, m := range s.masters {
		servers.Targets = append(servers.Targets, m.Target)
	}
	if preferred != s.masters[0] {
		slices.Reverse(servers.Targets)
	}
	return servers.Use(ctx, s.Timeout, func(o target.Opened) error {
		a, err := o.Allocator(opts)
		if err != nil {
			return err
		}
		err = do(a)
		s.CloseAllocator(ctx, a)
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, c := range a.Stats().Collections {
			s.RoundTrips += c.Ranges
			s.Returned += c.Returned
		}
		return err
	})
}

// work is what a program that needs identifiers does, at its pace, until ctx ends.
func (s *story) work(ctx context.Context, w *member) error {
	opts := s.options()
	opts.MaxCapacity = 1024
	return s.allocate(ctx, w.preferred, opts, func(a *allocator.Allocator) error {
		program := fleet.Program{
			IDs: a, Collections: collections, Goroutines: 1, Rate: pace, Batch: 20,
			Call:    s.next,
			Sink:    func(runs []fleet.Run) error { s.given(w, runs); return nil },
			Lasting: func(err error) bool { return errors.Is(err, prefix.ErrInvalid) },
			Failed: func(string, error, bool) {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.Failures++
			},
		}
		if err := program.Run(ctx); ctx.Err() == nil {
			return err
		}
		return nil
	})
}

// next takes an identifier, and reads it back from its text.
func (s *story) next(ctx context.Context, from *allocator.Collection, _ int64, note func(prefix.ID)) error {
	text, err := from.Next(ctx)
	if err != nil {
		return err
	}
	id, err := prefix.Parse(text, s.Separator)
	if err == nil {
		note(id)
	}
	return err
}

// given notes what a worker of the fleet was given.
func (s *story) given(w *member, runs []fleet.Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range runs {
		s.ledger.Add(s.ledger.SeriesOf(r.ID), proof.Run{Low: r.Number, High: r.Number + r.Count - 1, Worker: w.number})
		if r.Collection == collections[0] {
			text := string(r.Append(nil, s.Separator))
			w.newest.Store(&text)
		}
	}
}

// runAlone is one more worker, which nothing slows down.
func (s *story) runAlone(ctx context.Context) error {
	const name = "products"
	texts := make([]string, alone)
	err := s.allocate(ctx, s.masters[0], s.options(), func(a *allocator.Allocator) error {
		c, err := a.Collection(name)
		if err != nil {
			return err
		}
		start := time.Now()
		for i := range texts {
			if texts[i], err = c.Next(ctx); err != nil {
				return err
			}
		}
		took := time.Since(start).Seconds()
		s.Alone = spurt{Collection: name, IDs: alone, Seconds: took, PerSecond: int64(alone / took), RoundTrips: a.Stats().Collections[0].Ranges}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	s.say("one more worker took %d ids of %s at full speed", len(texts), name)
	for _, text := range texts {
		if err := s.ledger.AddText(text, s.Separator, workers+1); err != nil {
			return fmt.Errorf("%q was given, which is no identifier: %w", text, err)
		}
	}
	return nil
}
