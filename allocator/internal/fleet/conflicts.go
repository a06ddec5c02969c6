package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hilo-id/hilo/allocator/internal/failure"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// verify returns the issuer of a range, or an error if its identifiers could equal those of another server.
//
// No two servers issue the same identifier, because of any two with the same prefix and tag at least one is found before
// it is used. The prefix of a range is recorded here before the other servers are described, and every other allocator does
// the same. So of two servers whose prefixes change at the same time, the one that is described last has changed before.
// The server itself has to report the prefix again after the others answered, because the others may have been corrected
// since the range was issued, and so may the server while the range was in flight. The comparison is made before that
// report too: afterwards another server that had the same prefix may already have reported its correction.
//
// A verified prefix is checked again when it changes. One that was refused is checked again for a request that was sent
// after that check began.
func (s *Server) verify(ctx context.Context, sent time.Duration, got scripts.Range) (*Issuer, error) {
	f := s.fleet
	several := len(f.servers) > 1
	f.mu.Lock()
	from, err := s.recordPrefix(sent, reported(got.Prefix, got.Tag, got.Interval), got.Origin)
	switch {
	case err != nil || s.verified == from:
		f.mu.Unlock()
		return from, err
	case several && s.current != from:
		f.mu.Unlock()
		return nil, s.staleError()
	}
	if c := s.check; c != nil && c.of == from && (c.err == nil || sent <= c.began) { // it began after the server reported the prefix
		f.mu.Unlock()
		<-c.done
		return from, c.err
	}
	done := make(chan struct{})
	c := &check{of: from, began: f.Now(), done: done}
	s.check = c
	f.mu.Unlock()
	defer close(done)

	var again time.Duration
	if several {
		describeAll(ctx, How{}, slices.DeleteFunc(slices.Clone(f.servers), func(other *Server) bool { return other == s })...)
		f.mu.Lock()
		again, err = f.Now(), f.checkConflicts(from)
		f.mu.Unlock()
		describeAll(ctx, How{}, s)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err == nil {
		err = f.checkConflicts(from)
	}
	if err == nil && several && (s.current != from || s.currentAsOf < again) {
		err = s.staleError()
	}
	if c.err = err; err != nil {
		return from, err
	}
	s.verified = from
	if several {
		f.setServed()
	}
	return from, nil
}

func (s *Server) staleError() error {
	return fmt.Errorf("%w: key %s: the server no longer reports the prefix of a range, which is discarded", failure.ErrUnavailable, s.Keys.Server())
}

// checkConflicts returns why identifiers of an issuer may not be used beside those of the other servers, or nil, with mu held.
// Before the first identifier it compares all servers, with a nil issuer as they are, because a conflict is then an error in
// the settings, whichever server is asked first.
func (f *Fleet) checkConflicts(of *Issuer) error {
	first := !f.served
	current := func(s *Server) *Issuer {
		if of != nil && s == of.Server {
			return of // a newer report may have replaced it
		}
		return s.current
	}
	for i, s := range f.servers {
		from := current(s)
		if from == nil || !first && from != of {
			continue
		}
		if s.Prefix != "" && s.Prefix != from.Desc.ServerPrefix {
			return fmt.Errorf("%w: key %s has ServerPrefix %q, and the settings require %q", failure.ErrPrefixConflict, s.Keys.Server(), from.Desc.ServerPrefix, s.Prefix)
		}
		if emptied(from.Desc) && len(f.servers) > 1 {
			if from == of {
				return s.emptiedError()
			}
			continue // it issues nothing, and the others serve
		}
		if low, high := from.Desc.Interval(); s.MinValue != 0 && s.MinValue != low || s.MaxValue != 0 && s.MaxValue != high {
			return fmt.Errorf("%w: key %s has the interval %d..%d, and the settings require MinValue %d and MaxValue %d (0: any)",
				failure.ErrPrefixConflict, s.Keys.Server(), low, high, s.MinValue, s.MaxValue)
		}
		for j, other := range f.servers {
			if i == j || first && j < i || current(other) == nil {
				continue
			}
			if err := s.conflict(from.Desc, other, current(other).Desc, first); err != nil {
				return err
			}
		}
	}
	return nil
}

// lostSettings reports that the server has neither prefix, tag nor interval, and has to have one, with mu held.
func (s *Server) lostSettings() bool {
	return s.current != nil && emptied(s.current.Desc) && (s.settled || len(s.fleet.servers) > 1)
}

// emptiedError is why such a server issues nothing.
func (s *Server) emptiedError() error {
	return fmt.Errorf("%w: key %s has neither ServerPrefix nor NodeTag nor an interval: it lost its settings, or is one of several servers, each of "+
		"which needs one; set what it had (hilo settings set), or see hilo help recover", scripts.ErrPrefixMissing, s.Keys.Server())
}

// conflict returns why two servers could issue the same identifier, or with homes the same identity, with mu held. An emptied
// server issues nothing, and so is in conflict with no other.
func (s *Server) conflict(desc prefix.Server, other *Server, otherDesc prefix.Server, homes bool) error {
	switch {
	case s.origin != "" && s.origin == other.origin && s.Namespace == other.Namespace:
		return fmt.Errorf("%w: %s and %s are one server: same replication id, same namespace %q; a database or a replica of a server is no second one: "+
			"give each a server of its own, or a namespace (Server.Namespace)", failure.ErrPrefixConflict, s.Name, other.Name, s.Namespace)
	case emptied(desc) || emptied(otherDesc) || desc.DisjointFrom(otherDesc):
	case desc.SameAs(otherDesc):
		return fmt.Errorf("%w: %s and %s both have prefix %q and tag %q, letter case aside, and no disjoint intervals",
			failure.ErrPrefixConflict, s.Name, other.Name, desc.ServerPrefix, desc.NodeTag)
	case desc.IsZero() && (other.home || s.fleet.opts.IdentitiesAnywhere):
		return sameIdentities(s, other)
	case otherDesc.IsZero() && (s.home || s.fleet.opts.IdentitiesAnywhere):
		return sameIdentities(other, s)
	}
	if homes && s.home && other.home {
		return twoHomes(s, other)
	}
	return nil
}

// sameIdentities is the conflict of a server whose identifiers have neither prefix nor tag with one that issues identities.
func sameIdentities(bare, home *Server) error {
	return fmt.Errorf("%w: %s has neither prefix nor tag, and its interval overlaps that of %s, which issues identities: both would issue companies/1; "+
		"give them disjoint intervals", failure.ErrPrefixConflict, bare.Name, home.Name)
}

func twoHomes(a, b *Server) error {
	return fmt.Errorf("%w: %s and %s both report that they are the home of identities; only one may be", failure.ErrPrefixConflict, a.Name, b.Name)
}

// settingsConflict returns the conflict that keeps every server from issuing anything, or nil, with mu held.
func (f *Fleet) settingsConflict() error {
	if f.served {
		return nil
	}
	return f.checkConflicts(nil)
}

// demoteConflict turns a conflict of one of several servers into an outage of that server, with mu held, because it was emptied, or
// because it was misconfigured once identifiers were issued. The others serve. Before that a conflict is in the settings and ends
// every refill.
func (f *Fleet) demoteConflict(err error) error {
	if len(f.servers) > 1 && failure.Conflict(err) && (f.served || errors.Is(err, scripts.ErrPrefixMissing)) {
		return failure.Demote(err)
	}
	return err
}
