package demo

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2"
	"golang.org/x/time/rate"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/proof"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/cli/internal/term"
	"github.com/hilo-id/hilo/prefix"
)

// story is the course of a demo, and what its workers were given. A fleet of them takes identifiers from two masters in this
// process, of which one is lost and comes back; that no identifier was given twice is proven.
type story struct {
	*base.Session
	outcome
	masters []*master // north, which is preferred, and south
	start   time.Time
	fleet   []*member

	mu     sync.Mutex // guards what follows, and the figures of outcome
	ledger proof.Ledger
}

// member is one worker of the fleet.
type member struct {
	number  int                    // from 1
	masters []*master              // in order of preference
	newest  atomic.Pointer[string] // of the first collection
}

// tell runs the fleet from its start to its end.
func (s *story) tell(ctx context.Context) error {
	working, end := context.WithCancelCause(ctx)
	defer end(nil)
	var running sync.WaitGroup
	for i := range workers {
		w := &member{number: i + 1, masters: []*master{s.masters[i%2], s.masters[1-i%2]}}
		s.fleet = append(s.fleet, w)
		running.Go(func() { end(s.work(working, w)) }) // it returns before the end only where something is wrong
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
	s.say("%d workers on two masters, half of them prefer north", workers)
	if err := s.settle(ctx, nil, "%s"); err != nil {
		return err
	}
	north.server.Close()
	s.say("north is lost")
	if err := s.settle(ctx, south, "what was held from north is used up, and all are on south: %s"); err != nil {
		return err
	}
	if err := north.server.Restart(); err != nil {
		return err
	}
	s.say("north is back")
	return s.settle(ctx, nil, "those that prefer north are on north again: %s")
}

// settle waits until each worker got its newest identifier from a master, nil meaning the one that it prefers, says so with
// the newest of two that prefer different ones, and lets it last for a while.
func (s *story) settle(ctx context.Context, from *master, what string) error {
	deadline := time.Now().Add(patience)
	for _, w := range s.fleet {
		wanted := cmp.Or(from, w.masters[0])
		for newest := w.newest.Load(); newest == nil || !strings.Contains(*newest, wanted.prefix); newest = w.newest.Load() {
			if time.Now().After(deadline) {
				return fmt.Errorf("worker %d got no identifier from %s within %v", w.number, wanted.Name, patience)
			}
			if base.Sleep(ctx, 10*time.Millisecond); ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
	}
	s.say(what, fmt.Sprintf("worker 1 has %s, worker 2 %s", *s.fleet[0].newest.Load(), *s.fleet[1].newest.Load()))
	base.Sleep(ctx, act)
	return context.Cause(ctx)
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

// allocate lends do an allocator on both masters, as a program of its own would have it. Its ranges hold up to capacity
// numbers, 0: as many as is usual; those of one that ends within seconds need not last for an outage of ten.
func (s *story) allocate(ctx context.Context, masters []*master, capacity int64, do func(*allocator.Allocator) error) error {
	servers := target.Servers{Targets: []target.Target{masters[0].Target, masters[1].Target}}
	return servers.Use(ctx, s.Timeout, func(o target.Opened) error {
		opts := base.Options(s.Session, o, base.WithoutReturned(s.Log)) // the outage is meant
		opts.MaxCapacity, opts.Runway, opts.RefillTimeout = capacity, time.Millisecond, 500*time.Millisecond
		a, err := o.Allocator(opts)
		if err != nil {
			return err
		}
		err = do(a)
		base.CloseAllocator(ctx, s.Session, a)
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
	return s.allocate(ctx, w.masters, 1024, func(a *allocator.Allocator) error {
		for limiter := rate.NewLimiter(pace, batch); limiter.WaitN(ctx, batch) == nil; {
			for turn := range batch {
				name := collections[turn%len(collections)]
				text, err := a.Next(ctx, name)
				if err != nil {
					if ctx.Err() == nil { // it is not the end
						s.mu.Lock()
						s.Failures++
						s.mu.Unlock()
					}
					break
				}
				if err := s.given(w.number, text); err != nil {
					return err
				}
				if name == collections[0] {
					w.newest.Store(&text)
				}
			}
		}
		return nil
	})
}

// given notes what a worker was given, read back from its text.
func (s *story) given(worker int, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ledger.AddText(text, s.Separator, worker); err != nil {
		return fmt.Errorf("%q was given, which is no identifier: %w", text, err)
	}
	return nil
}

// runAlone is one more worker, which nothing slows down.
func (s *story) runAlone(ctx context.Context) error {
	const name = "products"
	texts := make([]string, alone)
	err := s.allocate(ctx, s.masters, 0, func(a *allocator.Allocator) error {
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
		if err := s.given(workers+1, text); err != nil {
			return err
		}
	}
	return nil
}

// master is a server of the demo's own.
type master struct {
	target.Target
	prefix string
	server *miniredis.Miniredis
}

// startMasters starts both, in order of preference, each with a prefix of its own. The first is the home of identities.
func (s *story) startMasters(ctx context.Context) error {
	s.masters = []*master{
		{Target: target.Target{Name: "north"}, prefix: "NorthServer/", server: miniredis.NewMiniRedis()},
		{Target: target.Target{Name: "south"}, prefix: "SouthServer/", server: miniredis.NewMiniRedis()},
	}
	for i, m := range s.masters {
		err := m.server.StartAddr("127.0.0.1:0")
		if err != nil {
			return fmt.Errorf("the server %s does not start: %w", m.Name, err)
		}
		// Its clients try once: what comes after is the allocator's.
		if m.Target, err = target.Parse(m.Name + "=redis://" + m.server.Addr() + "/0?max_retries=-1"); err != nil {
			return err
		}
		err = base.Administer(ctx, s.Session, m.Target, func(admin *allocator.Admin) error {
			return admin.SetServerPrefix(ctx, prefix.Server{ServerPrefix: m.prefix, Identities: i == 0})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// closeMasters may come before all are started.
func (s *story) closeMasters() {
	for _, m := range s.masters {
		m.server.Close()
	}
}

// count counts, from the identifiers themselves and from what stands in Redis.
func (s *story) count(ctx context.Context) error {
	s.Workers, s.Seconds = workers, time.Since(s.start).Seconds()
	s.IDs, s.Duplicates = s.ledger.IDs, s.ledger.Duplicates
	for _, m := range s.masters {
		err := base.Administer(ctx, s.Session, m.Target, func(admin *allocator.Admin) error {
			for _, of := range s.ledger.Series {
				if of.ServerPrefix != m.prefix {
					continue
				}
				counter, err := admin.Counter(ctx, of.Collection)
				if err != nil {
					return err
				}
				d := demonstration{
					Server: m.Name, Collection: of.Collection, IDs: of.IDs, Duplicates: of.Duplicates, Ranges: counter.Ranges,
					Max: counter.Max, Gaps: of.Numbers.Gaps(), Unused: counter.Max - of.Numbers.Count,
				}
				if of.Numbers.Greatest < counter.Max {
					d.Gaps++
				}
				s.Collections = append(s.Collections, d)
				s.Unused += d.Unused // also of ranges whose replies came too late
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	s.Reserved = s.IDs + s.Returned + s.Unused
	return nil
}

func verdict(found outcome) error {
	if found.Duplicates > 0 {
		return &exit.Error{Code: exit.Fault, Text: fmt.Sprintf("%d identifiers were given twice: please report this", found.Duplicates)}
	}
	for _, c := range found.Collections {
		if c.Unused < 0 {
			return &exit.Error{Code: exit.Fault, Text: fmt.Sprintf("of %s on %s more numbers were given than there are up to Max: please report this",
				c.Collection, c.Server)}
		}
	}
	return nil
}
