package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/hilo-id/hilo/allocator/internal/failure"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// Kind is the kind of a counter.
type Kind int

// The kinds of counters.
const (
	Range      Kind = iota // of a collection
	Identity               // whose values have no prefix
	ServerSide             // of all server-side identifiers
)

// Request asks for numbers of one counter.
type Request struct {
	Kind Kind
	// Name is the collection or identity as the caller spells it.
	Name string
	// Count is the number of consecutive numbers, and Limit the greatest number that may be issued.
	Count, Limit int64
	// Exact is the one value of an identity that is wanted in place of the next ones, or 0. Anywhere permits a server that
	// is not the home of identities.
	Exact    int64
	Anywhere bool
	// RaiseTop raises the counter's Top with each range, for a gateway. AtLeast is a number above which the range has to
	// begin, which is no mark.
	RaiseTop bool
	AtLeast  int64
	// Last reports that there is no better server to ask, so that the back-off is shorter.
	Last bool
}

// Reply is what a server issued.
type Reply struct {
	scripts.Range
	// Token identifies the request, for a return.
	Token string
	// Issuer is nil for an identity.
	Issuer *Issuer
}

// ScriptKeys returns the keys that the script for r names.
func (s *Server) ScriptKeys(r Request) scripts.Keys {
	switch r.Kind {
	case Range:
		return scripts.Keys{Counter: s.Keys.HiLo(r.Name), Server: s.Keys.Server(), Other: s.Keys.Identity(r.Name)}
	case Identity:
		return scripts.Keys{Counter: s.Keys.Identity(r.Name), Server: s.Keys.Server(), Other: s.Keys.HiLo(r.Name)}
	case ServerSide:
		return scripts.Keys{Counter: s.Keys.ServerSide(), Server: s.Keys.Server(), Other: s.Keys.Server()}
	}
	panic("bug: a request of no kind")
}

// Issue sends a request once, when no other one for the counter is in flight, and records what the reply proves about the
// counter and the server. It is not sent if the server is down by then. A canceled ctx, as by Abort, means that the fleet's
// owner gave up, which is ErrClosed and no fault of the server. A Reply beside an error has the range that was issued, which
// has to be discarded.
func (s *Server) Issue(ctx context.Context, r Request) (Reply, error) {
	f, keys := s.fleet, s.ScriptKeys(r)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(f.aborted, cancel)() //nolint:contextcheck // an abort concerns requests of all callers
	own, other := counters(r.Kind, prefix.Fold(r.Name))
	c := s.counter(own)
	c.turn.Lock()
	defer c.turn.Unlock()
	if err := s.whyDown(r.Name, r.Last); err != nil {
		return Reply{}, err
	}
	c.begin(r.Kind)
	token, sent := *c.token, f.Now()
	got, err := s.send(ctx, c, keys, r, other)
	if s.record(c, got, err) {
		s.log.Error("the counter was made anew: the range is discarded, because its numbers may have been issued before", zap.String("key", keys.Counter))
		if err == nil {
			got, err = s.send(ctx, c, keys, r, other)
			s.record(c, got, err)
		}
	}
	c.end(err)
	received := f.Now()
	if got.Evidence != "" {
		logJump(s.log, keys.Counter, got)
	}
	if got.Durable.Removed() {
		logRemoval(s.log, keys.Server, got.Durable)
	}
	if created(r.Kind, got) {
		s.log.Info("counter created", zap.String("key", keys.Counter))
	}
	reply := Reply{Range: got, Token: token}
	if err == nil && r.Kind != Identity {
		reply.Issuer, err = s.verify(ctx, sent, got)
	}
	if err == nil {
		err = s.checkOther(keys.Counter, other, got)
	}
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return reply, fmt.Errorf("%s: %w", r.Name, failure.ErrClosed)
	}

	f.mu.Lock()
	if err == nil {
		s.durable = durableOf(got.Durable, got.Replicas)
	}
	err = f.demoteConflict(err)
	if r.Kind == Range {
		s.refills.add(received-sent, err)
	} else {
		s.identities.add(received-sent, err)
	}
	changed := s.recordOutcome(r.Kind, sent, err)
	f.mu.Unlock()
	changed.finish()
	if err != nil {
		return reply, s.failed(r.Name, err)
	}
	return reply, nil
}

// learnings bounds how often a request is sent again because the server requires more replicas than the one before waited for.
const learnings = 2

// send sends a request for c with its turn held. other is the counter of the same name and the other kind.
func (s *Server) send(ctx context.Context, c *counter, keys scripts.Keys, r Request, other counterOf) (got scripts.Range, err error) {
	for range 1 + learnings {
		got, err = s.sendOnce(ctx, c, keys, r, other)
		_, few := errors.AsType[*scripts.TooFewReplicasError](err)
		if !few || errors.Is(err, failure.ErrInvalidOptions) {
			break
		}
	}
	return got, err
}

func (s *Server) sendOnce(ctx context.Context, c *counter, keys scripts.Keys, r Request, ofOther counterOf) (scripts.Range, error) {
	f := s.fleet
	ctx, cancel := context.WithTimeout(ctx, f.opts.AttemptTimeout+s.Backend.Extra())
	defer cancel()
	f.mu.Lock()
	known := c.marks
	f.mu.Unlock()
	other := s.marks(ofOther)
	if r.Kind == Range {
		return s.Backend.Next(ctx, keys, scripts.NextRequest{
			Token:         *c.token,
			Name:          r.Name,
			Capacity:      r.Count,
			Limit:         r.Limit,
			Floor:         known.Floor,
			Epoch:         known.Epoch,
			LeastGap:      known.LeastGap(f.Now()),
			IdentityFloor: other.Floor,
			RaiseTop:      r.RaiseTop,
			AtLeast:       r.AtLeast,
			RequireSeeded: f.opts.RequireSeeded,
			RequirePrefix: f.opts.RequirePrefix,
		})
	}
	return s.Backend.Identity(ctx, keys, scripts.IdentityRequest{
		Token:         *c.token,
		Name:          r.Name,
		Count:         r.Count,
		Raise:         r.Exact,
		Limit:         r.Limit,
		Floor:         known.Floor,
		Epoch:         known.Epoch,
		Lowered:       known.Count,
		LeastGap:      max(known.LeastGap(f.Now()), other.LeastGap(f.Now())), // the script may jump past the other kind
		BareFloor:     other.Bare,
		RequireSeeded: f.opts.RequireSeeded,
		RequirePrefix: f.opts.RequirePrefix,
		Anywhere:      r.Anywhere,
	})
}

// checkOther returns ErrMixed for numbers without prefix and tag if this client was issued numbers of the same name and the
// other kind, because the same number of both is the same text. The server refuses that by itself, unless it lost the key of
// the other kind. Each kind records its marks before it looks at the other's, so of two requests at the same time at least
// one is refused.
func (s *Server) checkOther(key string, other counterOf, got scripts.Range) error {
	if got.Low == 0 || got.Prefix+got.Tag != "" || s.marks(other).Floor == 0 {
		return nil
	}
	return fmt.Errorf("%w: key %s may not be used: this client was issued numbers of the other kind of the name, without prefix and tag",
		scripts.ErrMixed, key)
}

// recordOutcome records what the outcome of a request that was sent at that time proves about the server, with mu held. A
// refusal proves that the server serves. An identity proves nothing about the prefix, which it does not have. A failure
// proves nothing if a request that was sent later was served.
func (s *Server) recordOutcome(k Kind, sent time.Duration, err error) transition {
	now := s.fleet.Now() // a check of conflicts may have taken long
	switch {
	case err == nil || failure.Refused(err):
		s.servedAsOf = max(s.servedAsOf, sent)
		if k == Identity && failure.Conflict(s.down) {
			return transition{}
		}
		return s.setUp(now, true)
	case sent < s.servedAsOf && !failure.Conflict(err), notSent(err):
		return transition{}
	}
	return s.setDown(now, err)
}

// Return returns ranges. It ends with ctx even if the client does not, and a later answer is dropped.
func (s *Server) Return(ctx context.Context, requests []scripts.ReturnRequest) []scripts.Returned {
	if len(requests) == 0 {
		return nil
	}
	results := make(chan []scripts.Returned, 1)
	go func() { results <- s.Backend.Return(ctx, requests) }()
	select {
	case all := <-results:
		return all
	case <-ctx.Done():
	}
	select { // a client that respects ctx has a better error
	case all := <-results:
		return all
	case <-time.After(returnGrace):
	}
	all := make([]scripts.Returned, len(requests))
	for i := range all {
		all[i].Err = ctx.Err()
	}
	return all
}

// returnGrace is the time for a client to report by itself that ctx ended.
const returnGrace = 50 * time.Millisecond

// created reports whether a range is the first of a counter that did not exist. A counter that was seeded has an earlier write,
// and one that was set by hand begins above its Max. An identity has no count of ranges, and one that was seeded to 0 counts as
// new.
func created(k Kind, got scripts.Range) bool {
	if got.Low != max(1, got.MinValue) || got.Evidence != "" {
		return false
	}
	if k == Range {
		return got.Ranges == 1 && got.Before == 0
	}
	return got.Lowered == 0
}
