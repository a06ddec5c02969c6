package fleet

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

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
	// Token identifies a request for a range, also when it is repeated because no reply came. "" is a new one.
	Token string
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
// has to be discarded. A *CeilingError means that a raise of the counter's ceiling is in flight, after which the same request
// may be served.
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
	r.Token = cmp.Or(r.Token, rand.Text())
	sent := f.Now()
	got, err := s.send(ctx, keys, r, s.sentMarks(c, other))
	s.record(c, got)
	s.meet(sent, got.Origin)
	received := f.Now()
	if got.Evidence != "" {
		logJump(s.log, keys.Counter, got.Evidence, got.Jump, got.Low, got.Durable)
	}
	if got.Durable.Removed() {
		logRemoval(s.log, keys.Server, got.Durable)
	}
	if created(got) {
		logCreated(s.log, keys.Counter)
	}
	reply := Reply{Range: got, Token: r.Token}
	if err == nil && r.Kind != Identity {
		reply.Issuer, err = s.verify(ctx, sent, got)
	}
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return reply, fmt.Errorf("%s: %w", r.Name, failure.ErrClosed)
	}

	f.mu.Lock()
	ceiling := errors.Is(err, scripts.ErrCeiling)
	if err == nil {
		s.durable = durableOf(got.Durable)
	}
	err = f.demoteConflict(err)
	log := func() {}
	if ceiling {
		err = s.raise(c, own, other, keys, r) //nolint:contextcheck // a raise is of requests of all callers
	} else {
		if r.Kind == Range {
			s.refills.add(received-sent, err)
		} else {
			s.identities.add(received-sent, err)
		}
		if err == nil && needsRaise(got, r.Limit) {
			s.raiseAhead(c, own, other, keys, r) //nolint:contextcheck // a raise is of requests of all callers
		}
		if err == nil || failure.Refused(err) {
			log = s.logRefusal(own, err)
		}
	}
	changed := s.recordOutcome(r.Kind, sent, err)
	f.startMonitor()
	f.mu.Unlock()
	changed.finish()
	log()
	if err != nil {
		return reply, s.failed(r.Name, err)
	}
	return reply, nil
}

// send sends a request once.
func (s *Server) send(ctx context.Context, keys scripts.Keys, r Request, marks scripts.Marks) (scripts.Range, error) {
	ctx, cancel := context.WithTimeout(ctx, s.fleet.opts.AttemptTimeout)
	defer cancel()
	if r.Kind == Range {
		return s.Backend.Next(ctx, keys, nextRequest(r, marks))
	}
	return s.Backend.Identity(ctx, keys, identityRequest(r, marks))
}

func nextRequest(r Request, marks scripts.Marks) scripts.NextRequest {
	return scripts.NextRequest{Token: r.Token, Name: r.Name, Capacity: r.Count, Limit: r.Limit, Marks: marks}
}

func identityRequest(r Request, marks scripts.Marks) scripts.IdentityRequest {
	return scripts.IdentityRequest{
		Token: r.Token, Name: r.Name, Count: r.Count, Exact: r.Exact, Limit: r.Limit, Anywhere: r.Anywhere, Marks: marks,
	}
}

// recordOutcome records what the outcome of a request that was sent at that time proves about the server, with mu held. A
// refusal proves that the server serves. An identity proves nothing about the prefix, which it does not have. A failure
// proves nothing if a request that was sent later was served.
func (s *Server) recordOutcome(k Kind, sent time.Duration, err error) transition {
	now := s.fleet.Now() // a check of conflicts may have taken long
	switch {
	case err == nil || failure.Refused(err) || errors.As(err, new(*CeilingError)):
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

// created reports whether these are the first numbers of a counter that did not exist. A counter that was seeded has an earlier
// write, and one that was set by hand begins above its Max. At a durable server a raise makes counters.
func created(got scripts.Range) bool {
	const jumps = 1_000_000
	born := got.Epoch / jumps
	return got.Low == max(1, got.MinValue) && got.Evidence == "" && got.Epoch%jumps == 0 && born > 0 && got.Written == born
}
