package show

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/allocator/proof"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/cli/internal/term"
	"github.com/hilo-id/hilo/prefix"
)

// demo runs a fleet that takes identifiers from two in-process masters, stops and restarts one of them, and verifies that all
// identifiers are unique.
type demo struct {
	*base.Session
	outcome
	masters []*master // north and south
	start   time.Time
	fleet   []*demoWorker

	mu     sync.Mutex // guards what follows, and the figures of outcome
	ledger proof.Ledger
}

type demoWorker struct {
	number  int                    // from 1
	masters []*master              // in order of preference
	newest  atomic.Pointer[string] // newest identifier of the first collection
}

// runFleet runs the fleet, and then a single worker.
func (d *demo) runFleet(ctx context.Context) error {
	working, end := context.WithCancelCause(ctx)
	defer end(nil)
	var running sync.WaitGroup
	for i := range demoWorkers {
		w := &demoWorker{number: i + 1, masters: []*master{d.masters[i%2], d.masters[1-i%2]}}
		d.fleet = append(d.fleet, w)
		running.Go(func() { end(d.work(working, w)) }) // returns early only with an error
	}
	err := d.loseNorth(working)
	end(nil)
	running.Wait()
	if err != nil {
		return err
	}
	d.event("all workers end and return their unused numbers")
	return d.runAlone(ctx)
}

// loseNorth stops north and restarts it while the fleet works.
func (d *demo) loseNorth(ctx context.Context) error {
	north, south, style := d.masters[0], d.masters[1], d.Style(d.Stdout)
	d.event("%d workers on two masters; half of them prefer north", demoWorkers)
	if err := d.awaitFleet(ctx, nil, "%s"); err != nil {
		return err
	}
	north.server.Close()
	d.event("%s", style.Red("north is lost"))
	if err := d.awaitFleet(ctx, south, "ranges from north are used up, all workers are on south: %s"); err != nil {
		return err
	}
	if err := north.server.Restart(); err != nil {
		return err
	}
	d.event("%s", style.Green("north is back"))
	return d.awaitFleet(ctx, nil, "workers that prefer north are on north again: %s")
}

// awaitFleet waits until the newest identifier of each worker was issued by the given master, or by the preferred one if from
// is nil. It reports this as an event, with the newest identifiers of two workers, and waits for the length of a phase.
func (d *demo) awaitFleet(ctx context.Context, from *master, what string) error {
	deadline := time.Now().Add(phaseTimeout)
	got := make([]string, len(d.fleet)) // as they were then: on a busy machine a worker may have another master's by the end
	for i, w := range d.fleet {
		wanted := cmp.Or(from, w.masters[0])
		newest := w.newest.Load()
		for ; newest == nil || !strings.Contains(*newest, wanted.prefix); newest = w.newest.Load() {
			if time.Now().After(deadline) {
				return fmt.Errorf("worker %d got no identifier from %s within %v", w.number, wanted.Name, phaseTimeout)
			}
			if base.Sleep(ctx, 10*time.Millisecond); ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
		got[i] = *newest
	}
	d.event(what, fmt.Sprintf("worker 1 has %s, worker 2 %s", got[0], got[1]))
	base.Sleep(ctx, phaseLength)
	return context.Cause(ctx)
}

// event records an event, and prints it unless the output is JSON.
func (d *demo) event(what string, values ...any) {
	e := demoEvent{time.Since(d.start).Seconds(), d.Style(d.Stdout).Sprintf(what, values...)}
	d.Events = append(d.Events, e)
	if !d.JSON {
		const margin = 9
		fmt.Fprintln(d.Stdout, term.Wrap(fmt.Sprintf("%5.2f s  %s", e.Seconds, e.What), term.Width(d.Stdout), margin))
	}
}

// withAllocator calls do with a new allocator on both masters. A capacity of 0 means the default. The runway is short, so that
// the workers switch servers soon after an outage begins.
func (d *demo) withAllocator(ctx context.Context, masters []*master, capacity int64, do func(*allocator.Allocator) error) error {
	servers := target.Servers{Targets: []target.Target{masters[0].Target, masters[1].Target}}
	return servers.Use(ctx, d.Timeout, func(o target.Opened) error {
		opts := base.Options(d.Session, o, base.WithoutReturned(d.Log)) // the outage is intentional
		opts.MaxCapacity, opts.Runway, opts.RefillTimeout = capacity, time.Millisecond, 500*time.Millisecond
		a, err := o.Allocator(opts)
		if err != nil {
			return err
		}
		err = do(a)
		base.CloseAllocator(ctx, d.Session, a)
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, c := range a.Stats().Collections {
			d.RoundTrips += c.Ranges
			d.Returned += c.Returned
		}
		return err
	})
}

// work takes identifiers at demoRate until ctx ends.
func (d *demo) work(ctx context.Context, w *demoWorker) error {
	return d.withAllocator(ctx, w.masters, 1024, func(a *allocator.Allocator) error {
		for limiter := rate.NewLimiter(demoRate, demoBatch); limiter.WaitN(ctx, demoBatch) == nil; {
			for turn := range demoBatch {
				name := demoCollections[turn%len(demoCollections)]
				text, err := a.Next(ctx, name)
				if err != nil {
					if ctx.Err() == nil { // the demo has not ended
						d.mu.Lock()
						d.Failures++
						d.mu.Unlock()
					}
					break
				}
				if err := d.record(w.number, text); err != nil {
					return err
				}
				if name == demoCollections[0] {
					w.newest.Store(&text)
				}
			}
		}
		return nil
	})
}

// record adds an identifier to the ledger.
func (d *demo) record(worker int, text string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.ledger.AddText(text, d.Separator, worker); err != nil {
		return fmt.Errorf("an invalid identifier %q was issued: %w", text, err)
	}
	return nil
}

// runAlone runs a single worker at full speed.
func (d *demo) runAlone(ctx context.Context) error {
	const name = "products"
	texts := make([]string, aloneCount)
	err := d.withAllocator(ctx, d.masters, 0, func(a *allocator.Allocator) error {
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
		d.Alone = speedRun{Collection: name, IDs: aloneCount, Seconds: took, PerSecond: int64(aloneCount / took), RoundTrips: a.Stats().Collections[0].Ranges}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	d.event("a single worker took %d ids of %s at full speed", len(texts), name)
	for _, text := range texts {
		if err := d.record(demoWorkers+1, text); err != nil {
			return err
		}
	}
	return nil
}

// master is an in-process server.
type master struct {
	target.Target
	prefix string
	server target.Embedded
}

// startMasters starts both masters with different prefixes. The first is the home of identities.
func (d *demo) startMasters(ctx context.Context) error {
	d.masters = []*master{
		{Target: target.Target{Name: "north"}, prefix: "NorthServer/", server: target.NewEmbedded()},
		{Target: target.Target{Name: "south"}, prefix: "SouthServer/", server: target.NewEmbedded()},
	}
	for i, m := range d.masters {
		err := m.server.StartAddr("127.0.0.1:0")
		if err != nil {
			return fmt.Errorf("cannot start the server %s: %w", m.Name, err)
		}
		// The clients do not retry, since the allocator does.
		if m.Target, err = target.Parse(m.Name + "=redis://" + m.server.Addr() + "/0?max_retries=-1"); err != nil {
			return err
		}
		err = base.Administer(ctx, d.Session, m.Target, func(operator *admin.Admin) error {
			return operator.Init(ctx, prefix.Server{ServerPrefix: m.prefix, Identities: i == 0})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// closeMasters stops the masters, including those that were not started.
func (d *demo) closeMasters() {
	for _, m := range d.masters {
		m.server.Close()
	}
}

// count computes the outcome from the ledger and the counters in Redis.
func (d *demo) count(ctx context.Context) error {
	d.Workers, d.Seconds = demoWorkers, time.Since(d.start).Seconds()
	d.IDs, d.Duplicates = d.ledger.IDs, d.ledger.Duplicates
	for _, m := range d.masters {
		err := base.Administer(ctx, d.Session, m.Target, func(operator *admin.Admin) error {
			for _, of := range d.ledger.Series {
				if of.ServerPrefix != m.prefix {
					continue
				}
				counter, err := operator.Counter(ctx, of.Collection)
				if err != nil {
					return err
				}
				found := demoCollection{
					Server: m.Name, Collection: of.Collection, IDs: of.IDs, Duplicates: of.Duplicates, Ranges: counter.Ranges,
					Max: counter.Max, Gaps: of.Numbers.Gaps(), Unused: counter.Max - of.Numbers.Count,
				}
				if of.Numbers.Greatest < counter.Max {
					found.Gaps++
				}
				d.Collections = append(d.Collections, found)
				d.Unused += found.Unused // includes ranges whose replies were late
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	d.Reserved = d.IDs + d.Returned + d.Unused
	return nil
}

func verdict(found outcome) error {
	if found.Duplicates > 0 {
		return &exit.Error{Code: exit.Fault, Text: fmt.Sprintf("%s: please report this", term.Plural(found.Duplicates, "duplicate"))}
	}
	for _, c := range found.Collections {
		if c.Unused < 0 {
			return &exit.Error{Code: exit.Fault, Text: fmt.Sprintf("more numbers of %s on %s were issued than there are up to Max: please report this",
				c.Collection, c.Server)}
		}
	}
	return nil
}
