package fleet

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"slices"
	"time"

	"github.com/hilo-id/hilo/allocator/internal/failure"
	"github.com/hilo-id/hilo/prefix"
)

// MonitorInterval is the mean time between two checks of all servers, also of a lone one, so that an outage or a conflict shows
// before they are needed. Ranges do not show which server is the home of identities, nor an outage without traffic.
const MonitorInterval = 10 * time.Second

// startMonitor starts the periodic check, with mu held.
func (f *Fleet) startMonitor() {
	if f.monitor == nil && !f.closed {
		f.monitor = time.AfterFunc(MonitorInterval, func() { f.goBackground(f.runMonitor) })
	}
}

// setServed records that several servers were compared and found without conflict, with mu held. The first time a check is due at
// once, which verifies the others.
func (f *Fleet) setServed() {
	if f.served || f.closed {
		return
	}
	f.served = true
	f.startMonitor()
	f.monitor.Reset(0)
}

// runMonitor checks the servers and schedules the next check. Unless a prefix has to be verified, those that are down are left
// to their recovery timers.
func (f *Fleet) runMonitor() {
	var servers []*Server
	f.mu.Lock()
	for _, s := range f.servers {
		if s.down == nil || failure.Conflict(s.down) {
			servers = append(servers, s)
		}
	}
	f.mu.Unlock()
	f.checkServers(servers...)
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.monitor.Reset(MonitorInterval - MonitorInterval/10 + mathrand.N(MonitorInterval/5)) // clients of a fleet do not check in step
	}
}

// checkServers describes servers, and again those whose prefix may become verified by what the others report. For that all are
// described, also those that are down: what was known of one may be from before it took the same prefix.
func (f *Fleet) checkServers(servers ...*Server) {
	candidates := make(map[*Server]*Issuer)
	f.mu.Lock()
	for _, s := range f.servers {
		if f.served && s.current != nil && s.current != s.verified {
			candidates[s] = s.current
		}
	}
	f.mu.Unlock()
	if len(candidates) > 0 {
		servers = f.servers
	}
	describeAll(f.ctx, How{Checked: true}, servers...)
	unverified := slices.Collect(maps.Keys(candidates))
	f.mu.Lock()
	again := f.Now()
	maps.DeleteFunc(candidates, func(_ *Server, of *Issuer) bool { return f.checkConflicts(of) != nil }) // as in verify
	f.mu.Unlock()
	describeAll(f.ctx, How{}, unverified...)
	f.recheckAll(candidates, again)
}

// recheckAll demotes servers that are in conflict with another, and restores those that no longer are.
//
// A candidate reported its prefix before all servers were described, was in no conflict with their answers, and reported it
// again after that, from again on. So it becomes verified as by a range, and a server that changes to the same prefix later is
// the one that is demoted. A verified prefix stays as it is, because the next range shows what the server reports then. Before the
// first identifier nothing is decided here.
func (f *Fleet) recheckAll(candidates map[*Server]*Issuer, again time.Duration) {
	var changes []transition
	f.mu.Lock()
	for _, s := range f.servers {
		if !f.served || s.current == nil || s.current == s.verified {
			continue
		}
		err := f.demoteConflict(f.checkConflicts(s.current))
		switch {
		case err != nil:
			changes = append(changes, s.setDown(f.Now(), err))
		case failure.Conflict(s.down):
			changes = append(changes, s.setUp(f.Now(), true))
		}
		if err == nil && s.current == candidates[s] && s.currentAsOf >= again {
			s.verified = s.current
		}
	}
	f.mu.Unlock()
	for _, changed := range changes {
		changed.finish()
	}
}

// Check describes and compares all servers. It returns nil if a request can succeed now, also one for a range of each of these
// collections, and otherwise the error that the request would return. It ends with ctx.
func (f *Fleet) Check(ctx context.Context, limit int64, collections ...string) error {
	err := fmt.Errorf("check: %w", failure.ErrClosed)
	done := f.goBackground(func() {
		f.checkServers(f.servers...)
		if f.ctx.Err() != nil {
			return
		}
		err = f.usable()
		for _, name := range collections {
			if err == nil {
				err = f.checkCollection(f.ctx, name, limit)
			}
		}
	})
	select {
	case <-done:
		return err
	case <-ctx.Done():
		return failure.Ended(ctx, "check", nil)
	}
}

// checkCollection returns nil if the first server that would be asked issues a range of a collection.
func (f *Fleet) checkCollection(ctx context.Context, name string, limit int64) error {
	return f.First(func(s *Server, last bool) error {
		if err := s.whyDown(name, last); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, f.opts.AttemptTimeout)
		defer cancel()
		r := Request{Kind: Range, Name: name, Count: 1, Limit: limit, Token: rand.Text()}
		own, other := counters(Range, prefix.Fold(name))
		err := s.Backend.Check(ctx, s.ScriptKeys(r), nextRequest(r, s.sentMarks(s.counter(own), other)))
		if err == nil {
			return nil
		}
		f.mu.Lock()
		err = f.demoteConflict(err)
		f.mu.Unlock()
		return s.failed(name, err)
	})
}

// usable returns nil if some server can issue identifiers, as it was described last.
func (f *Fleet) usable() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.settingsConflict(); err != nil {
		return fmt.Errorf("check: %w", err)
	}
	if slices.ContainsFunc(f.servers, func(s *Server) bool {
		return s.down == nil && s.unsent == nil && !s.lostSettings()
	}) {
		return nil
	}
	return f.downErrors("check")
}

// downErrors returns why each server is down, with mu held.
func (f *Fleet) downErrors(what string) error {
	var failures []error
	for _, s := range f.servers {
		why := cmp.Or(s.down, s.unsent)
		if why == nil && s.lostSettings() {
			why = s.emptiedError()
		}
		if why != nil {
			failures = append(failures, s.failed(what, why))
		}
	}
	return errors.Join(failures...)
}
