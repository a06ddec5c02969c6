package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/hilo-id/hilo/allocator/internal/failure"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// reported returns the settings of a server that decide whether its identifiers equal those of another one.
func reported(serverPrefix, tag string, got scripts.Interval) prefix.Server {
	return prefix.Server{ServerPrefix: serverPrefix, NodeTag: tag, MinValue: got.MinValue, MaxValue: got.MaxValue}
}

// durableOf returns prefix.Server.Durable of a server that reported a state.
func durableOf(state scripts.DurableState) string {
	if state.Holds() {
		return string(state)
	}
	return ""
}

// emptied reports whether a server with these settings issues nothing beside others, because its numbers are bounded by
// nothing and its identifiers have neither prefix nor tag. It was emptied, or never set up.
func emptied(desc prefix.Server) bool { return desc.IsZero() && !desc.HasInterval() }

// UniqueNumber reports whether a number of the issuer alone is one that no other server issues. There is none of a nil Issuer.
func (i *Issuer) UniqueNumber() bool { return i != nil && i.unique.Load() }

// updateUnique decides for each server whether its numbers are unique, with mu held.
func (f *Fleet) updateUnique() {
	for _, s := range f.servers {
		for _, from := range []*Issuer{s.current, s.verified} {
			if from != nil {
				from.unique.Store(f.numbersConflict(from) == nil)
			}
		}
	}
}

// numbersConflict returns why a number of an issuer may be one of another server, or nil, with mu held.
func (f *Fleet) numbersConflict(from *Issuer) error {
	for _, other := range f.servers {
		desc, known := other.interval()
		switch {
		case other == from.Server:
		case !known:
			return fmt.Errorf("%w: the interval of %s is not known, since it has not answered yet; state its MinValue and MaxValue in the settings of the "+
				"server, or take the identifier", failure.ErrPrefixed, other.Name)
		case !emptied(desc) && !from.Desc.DisjointFrom(desc):
			return fmt.Errorf("%w: %s and %s may issue the same number; give them disjoint intervals by MinValue and MaxValue, or take the identifier",
				failure.ErrPrefixed, from.Server.Name, other.Name)
		}
	}
	return nil
}

// interval returns what is known of the interval of a server, with mu held. Before its first answer that is what the settings
// require.
func (s *Server) interval() (desc prefix.Server, known bool) {
	if s.current != nil {
		return s.current.Desc, true
	}
	return prefix.Server{MinValue: s.MinValue, MaxValue: s.MaxValue}, s.MinValue != 0 || s.MaxValue != 0
}

// AwaitUniqueNumbers returns nil if some server issues numbers that no other server issues, and otherwise ErrPrefixed, or why
// no server answered. Servers that have not answered yet are described first, so that no range is taken in vain.
func (f *Fleet) AwaitUniqueNumbers(ctx context.Context, what string) error {
	f.mu.Lock()
	answered, why := f.numbersError()
	if why == nil || answered == len(f.servers) {
		f.mu.Unlock()
		return why
	}
	c := f.searchHome() // which describes all servers
	f.mu.Unlock()
	select {
	case <-c.done:
	case <-ctx.Done():
		return failure.Ended(ctx, what, nil)
	}
	if errors.Is(c.err, failure.ErrClosed) {
		return c.err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if answered, why = f.numbersError(); why != nil && answered == 0 {
		return f.downErrors(what)
	}
	return why
}

// numbersError returns why the numbers of no server are unique, and how many servers have answered, or nil if those of one are
// unique, with mu held.
func (f *Fleet) numbersError() (answered int, why error) {
	for _, s := range f.servers {
		if s.current == nil {
			continue
		}
		answered++
		conflict := f.numbersConflict(s.current)
		if conflict == nil && !emptied(s.current.Desc) {
			return answered, nil
		}
		if why == nil {
			why = conflict
		}
	}
	if why == nil {
		why = fmt.Errorf("%w: no server has reported its interval", failure.ErrPrefixed)
	}
	return answered, why
}
