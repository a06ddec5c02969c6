package fleet

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hilo-id/hilo/allocator/internal/failure"
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
	from, err := s.recordPrefix(sent, reported(got.Prefix, got.Tag, got.Settings), got.Origin)
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
		f.served = true
		f.startMonitor()
	}
	return from, nil
}

func (s *Server) staleError() error {
	return fmt.Errorf("%w: key %s: the server no longer reports the prefix of a range, which is discarded", failure.ErrUnavailable, s.Keys.Server())
}
