package allocator

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"go.uber.org/zap"

	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// NextIdentity gives the next value of an identity, 1 to Options.Limit: the
// number of `companies/1`, which never has a prefix or tag. A trailing "|" of
// the name is optional. Each call is a round trip. Values are in the order of
// the calls and leave no gaps, unless a reply is lost or the guard jumps.
// Errors: ErrInvalidName, ErrUnavailable, ErrExhausted, ErrNotSeeded, ErrMixed,
// ErrCorrupt, ErrClosed.
func (a *Allocator) NextIdentity(ctx context.Context, name string) (int64, error) {
	r, err := a.NextIdentities(ctx, name, 1)
	return r.Low, err
}

// NextIdentities gives n consecutive values, 1 to 2^40, in one round trip.
// Errors: as NextIdentity, and ErrInvalidOptions for another n.
func (a *Allocator) NextIdentities(ctx context.Context, name string, n int64) (Range, error) {
	i, err := a.identity(name)
	if err != nil {
		return Range{}, err
	}
	if n < 1 || n > largestRange {
		return Range{}, fmt.Errorf("allocator: %s: %w: %d identities: must be 1 to %d", i.name, ErrInvalidOptions, n, int64(largestRange))
	}
	got, err := i.ask(ctx, scripts.IdentityRequest{Count: n, Limit: a.opts.Limit})
	if err != nil {
		return Range{}, fmt.Errorf("allocator: %w", err)
	}
	return Range{Low: got.Low, High: got.High}, nil
}

// TakenFunc tells whether there is a document with this id.
type TakenFunc func(ctx context.Context, id string) (bool, error)

// NextFreeIdentity gives a value of an identity that no document has, and how
// often it asked taken. It is for a server that took over from another, whose
// documents are there and whose counter is not: from the counter's next value on
// it tries ever larger steps until an id is free, then halves back to the
// border, so that n documents cost about 2*log2(n) questions; and it sets the
// counter there, so that the next call asks once. A free number below a taken
// one may be passed over. Callers side by side get different values; the counter
// never goes back. What is tried and not used is a gap.
// Errors: as NextIdentity, and those of taken.
func (a *Allocator) NextFreeIdentity(ctx context.Context, name string, taken TakenFunc) (number int64, tries int, err error) {
	i, err := a.identity(name)
	if err != nil {
		return 0, 0, err
	}
	if taken == nil {
		return 0, 0, fmt.Errorf("allocator: %s: %w: taken is nil", i.name, ErrInvalidOptions)
	}
	s := search{identity: i, taken: taken}
	number, err = s.run(ctx)
	if err != nil {
		return 0, s.tries, fmt.Errorf("allocator: %w", err)
	}
	return number, s.tries, nil
}

// identity is one counter that is asked each time: an identity, or that of
// server-side identifiers.
type identity struct {
	a      *Allocator
	name   string
	keys   scripts.Keys
	taught *taught // shared by all spellings
}

func (a *Allocator) identity(name string) (*identity, error) {
	name = strings.TrimSuffix(name, "|")
	if err := prefix.ValidateCollection(name, a.opts.Separator); err != nil {
		return nil, fmt.Errorf("allocator: identity: %w", err)
	}
	k := a.server.keys
	return a.asked(name, scripts.Keys{Counter: k.Identity(name), Server: k.Server(), Other: k.HiLo(name)})
}

// asked is a counter with what is known of it.
func (a *Allocator) asked(name string, keys scripts.Keys) (*identity, error) {
	a.mu.Lock()
	closing := a.closing
	a.mu.Unlock()
	if closing {
		return nil, fmt.Errorf("allocator: %s: %w", name, ErrClosed)
	}
	t, ok := a.taught.Load(keys.Counter)
	if !ok {
		t, _ = a.taught.LoadOrStore(keys.Counter, new(taught))
	}
	return &identity{a: a, name: name, keys: keys, taught: t.(*taught)}, nil
}

// ask is one attempt for values.
func (i *identity) ask(ctx context.Context, request scripts.IdentityRequest) (scripts.Range, error) {
	a := i.a
	request.Name = i.name
	request.GuardGap = a.opts.GuardGap
	request.RequireSeeded = a.opts.RequireSeeded
	request.Floor, request.LeastGap = a.server.recall(i.taught, a.now())

	attempt, cancel := context.WithTimeout(ctx, a.opts.RefillTimeout)
	defer cancel()
	got, err := a.server.backend.identity(attempt, i.keys, request)
	if err != nil {
		err = attemptError(i.name, err)
		if ctx.Err() != nil {
			err = ended(ctx, i.name, err)
		}
		return scripts.Range{}, err
	}
	if got.Low > 0 {
		a.server.remember(i.taught, a.now(), got)
	}
	if got.Evidence != "" {
		logJump(a.opts.Logger, i.keys.Counter, got)
	}
	return got, nil
}

// search is one NextFreeIdentity.
type search struct {
	*identity
	taken TakenFunc
	tries int
}

// run tries the next value that the counter gives, and on from there.
//
// A number belongs to the caller when the script gave it, as the next value or
// by raising the counter from below it in one step. So no two callers get the
// same one, whatever they found free, and a caller that comes second starts
// again above.
func (s *search) run(ctx context.Context) (int64, error) {
	for {
		got, err := s.ask(ctx, scripts.IdentityRequest{Count: 1, Limit: s.a.opts.Limit})
		if err != nil {
			return 0, err
		}
		free, err := s.border(ctx, got.Low)
		if err != nil || free == got.Low {
			return free, err
		}
		raised, err := s.ask(ctx, scripts.IdentityRequest{Raise: free, Limit: s.a.opts.Limit})
		if err != nil || raised.Low == free {
			return free, err
		}
	}
}

// border finds a free number, from on, above a taken one unless it is from.
func (s *search) border(ctx context.Context, from int64) (int64, error) {
	low, high := from-1, from // low is taken, or below all; high is tried next
	for step := int64(1); ; step *= 2 {
		isTaken, err := s.ask1(ctx, high)
		if err != nil {
			return 0, err
		}
		if !isTaken {
			break
		}
		low = high
		if high == s.a.opts.Limit {
			return 0, fmt.Errorf("%s: %w: every number that was tried up to the limit %d is taken", s.name, ErrExhausted, high)
		}
		if step > math.MaxInt64/4 || step > s.a.opts.Limit-high {
			high = s.a.opts.Limit
		} else {
			high += step
		}
	}
	for high-low > 1 {
		middle := low + (high-low)/2
		isTaken, err := s.ask1(ctx, middle)
		if err != nil {
			return 0, err
		}
		if isTaken {
			low = middle
		} else {
			high = middle
		}
	}
	return high, nil
}

func (s *search) ask1(ctx context.Context, number int64) (bool, error) {
	if ctx.Err() != nil {
		return false, ended(ctx, s.name, nil)
	}
	s.tries++
	id := s.name + s.a.opts.Separator + strconv.FormatInt(number, 10)
	isTaken, err := s.taken(ctx, id)
	if err != nil {
		return false, fmt.Errorf("%s: is there a document %s: %w", s.name, id, err)
	}
	return isTaken, nil
}

// logJump says that a counter was moved because writes may have been lost.
func logJump(logger *zap.Logger, counter string, got scripts.Range) {
	log, text := logger.Warn, "the server may have lost writes: the counter jumped ahead"
	if got.Evidence == scripts.EvidenceMissing {
		log, text = logger.Error, "the counter is gone: going on above what this client was given"
	}
	log(text,
		zap.String("key", counter),
		zap.String("evidence", string(got.Evidence)),
		zap.Int64("jump", got.Jump),
		zap.Int64("low", got.Low),
		zap.Int64("epoch", got.Epoch))
}
