package cli

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hilo-id/hilo/allocator"
)

// story is the course of a demo, and what its workers were given.
type story struct {
	demo
	masters masterPair
	start   time.Time
	fleet   []*member
	events  []event
	alone   spurt
	texts   [][]string // that each worker was given; behind the fleet's those of the one alone
	stats   []allocator.Stats
}

// member is one worker of the fleet.
type member struct {
	number    int
	preferred *master
	newest    atomic.Pointer[string] // of the first collection
	failures  atomic.Int64
	ids       []string
	stats     allocator.Stats
	err       error
}

// tell runs the fleet from its start to its end.
func (s *story) tell(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	end := make(chan struct{})
	var working sync.WaitGroup
	north, south := s.masters.north, s.masters.south
	for i := range s.Workers {
		w := &member{number: i + 1, preferred: s.masters.all()[i%2]}
		s.fleet = append(s.fleet, w)
		working.Go(func() {
			if w.err = s.work(ctx, w, end); w.err != nil {
				cancel()
			}
		})
	}
	err := s.acts(ctx, north, south)
	close(end)
	working.Wait()
	for _, w := range s.fleet {
		if w.err != nil && ctx.Err() != nil {
			err = w.err
		}
		s.texts, s.stats = append(s.texts, w.ids), append(s.stats, w.stats)
	}
	if err != nil {
		return err
	}
	s.say("all workers end, and return what they reserved and did not use")
	return s.runAlone(ctx)
}

// acts is what happens to the masters meanwhile.
func (s *story) acts(ctx context.Context, north, south *master) error {
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
	s.say("%d workers on two masters, half of them prefer north", s.Workers)
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
		s.say(step.then, s.samples())
		if err := pass(ctx, s.Act); err != nil {
			return err
		}
	}
	return nil
}

// say tells a moment, to a person at once.
func (s *story) say(what string, values ...any) {
	e := event{time.Since(s.start).Seconds(), fmt.Sprintf(what, values...)}
	s.events = append(s.events, e)
	if !s.JSON {
		const margin = 9
		fmt.Fprintln(s.Stdout, wrapText(fmt.Sprintf("%5.2f s  %s", e.Seconds, e.What), widthFor(s.Stdout), margin))
	}
}

// samples are the newest identifiers of two workers that prefer different masters.
func (s *story) samples() string {
	return fmt.Sprintf("worker 1 has %s, worker 2 %s", *s.fleet[0].newest.Load(), *s.fleet[1].newest.Load())
}

// await returns when each worker got its newest identifier from a master, nil meaning the one that it prefers.
func (s *story) await(ctx context.Context, from *master) error {
	deadline := time.Now().Add(s.Patience)
	for _, w := range s.fleet {
		wanted := from
		if wanted == nil {
			wanted = w.preferred
		}
		for newest := w.newest.Load(); newest == nil || !strings.Contains(*newest, wanted.prefix); newest = w.newest.Load() {
			if time.Now().After(deadline) {
				return fmt.Errorf("worker %d got no identifier from %s within %v", w.number, wanted.name, s.Patience)
			}
			if err := pass(ctx, s.Tick); err != nil {
				return err
			}
		}
	}
	return nil
}

// pass lets some time pass.
func pass(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// work is what a program that needs identifiers does, at its pace.
func (s *story) work(ctx context.Context, w *member, end <-chan struct{}) error {
	opts := s.options()
	opts.MaxCapacity = 1024
	a, done, err := s.masters.allocator(w.preferred, opts)
	if err != nil {
		return err
	}
	defer done()
	defer func() {
		s.close(ctx, a)
		w.stats = a.Stats()
	}()
	tick := time.NewTicker(s.Tick)
	defer tick.Stop()
	for {
		for i := range s.Burst {
			id, err := a.Next(ctx, s.Collections[i%len(s.Collections)])
			if ctx.Err() != nil { // with numbers in hand, Next does not ask
				return ctx.Err()
			}
			if err != nil {
				w.failures.Add(1)
				break
			}
			w.ids = append(w.ids, id)
			if i == 0 {
				w.newest.Store(&id)
			}
		}
		select {
		case <-tick.C:
		case <-end:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// runAlone is one more worker, which nothing slows down.
func (s *story) runAlone(ctx context.Context) error {
	a, done, err := s.masters.allocator(s.masters.north, s.options())
	if err != nil {
		return err
	}
	defer done()
	const name = "products"
	c, err := a.Collection(name)
	if err != nil {
		return err
	}
	ids := make([]string, s.Alone)
	start := time.Now()
	for i := range ids {
		if err == nil {
			ids[i], err = c.Next(ctx)
		}
		if err != nil {
			break
		}
	}
	took := time.Since(start)
	s.close(ctx, a)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	stats := a.Stats()
	s.texts, s.stats = append(s.texts, ids), append(s.stats, stats)
	s.alone = spurt{
		Collection: name,
		IDs:        int64(len(ids)),
		Seconds:    took.Seconds(),
		PerSecond:  int64(float64(len(ids)) / took.Seconds()),
		RoundTrips: stats.Collections[0].Ranges,
	}
	s.say("one more worker took %d ids of %s at full speed", len(ids), name)
	return nil
}
