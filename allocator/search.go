package allocator

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator/internal/failure"
	"github.com/hilo-id/hilo/allocator/internal/fleet"
)

// TakenFunc reports whether a document with this id exists.
type TakenFunc func(ctx context.Context, id string) (bool, error)

// NextFreeIdentity issues a value of an identity that no document has, and returns how often it called taken. It is for a
// server that replaced another, with the documents but without the counter. From the counter's next value on it doubles its
// steps until an id is free, then bisects back to the border, so that n documents cost about 2*log2(n) calls. It sets the
// counter there, so that the next search needs one call. A free number below a taken one may be skipped. Concurrent callers
// receive different values, and the counter never goes back. Values that were tried and not used are a gap.
//
// The value comes from the home of identities. With [Options.FreeIdentityAnywhere] the search continues at the other servers,
// in order, while the home is down. It is then for one writer at a time. Two callers at two servers that have not stored their
// documents yet can receive the same number, and so can one whose document is not stored when the home recovers.
//
// It returns the errors of NextIdentity and of taken.
func (a *Allocator) NextFreeIdentity(ctx context.Context, name string, taken TakenFunc) (number int64, tries int, err error) {
	if taken == nil {
		return 0, 0, fmt.Errorf("allocator: %s: %w: taken is nil", name, ErrInvalidOptions)
	}
	if name, err = a.identityName(name); err != nil {
		return 0, 0, err
	}
	search := search{a: a, name: name, taken: taken}
	var home *fleet.Server
	err = a.fleet.AtHome(ctx, name, func(s *fleet.Server) (err error) {
		home = s
		number, err = search.run(ctx, s)
		return err
	})
	if a.opts.FreeIdentityAnywhere && Retryable(err) && !search.failed {
		search.anywhere = true
		failures := []error{err}
		for _, s := range a.fleet.Servers() {
			if s == home || err == nil || !failure.Passing(err) || search.failed {
				continue
			}
			if number, err = search.run(ctx, s); err != nil {
				failures = append(failures, err)
			}
		}
		if err != nil {
			err = errors.Join(failures...)
		}
	}
	if err != nil {
		return 0, search.tries, fmt.Errorf("allocator: %w", err)
	}
	return number, search.tries, nil
}

// search is one NextFreeIdentity, at any server or only at the home of identities. failed reports that taken failed.
type search struct {
	a        *Allocator
	name     string
	taken    TakenFunc
	anywhere bool
	tries    int
	failed   bool
}

// run tries the next value of the counter, and larger ones from there.
//
// A number belongs to the caller once the script issued it, either as the next value or by raising the counter from below it
// in one step. So no two callers receive the same one, whatever they found free. The second one starts again above it.
func (s *search) run(ctx context.Context, server *fleet.Server) (int64, error) {
	next := fleet.Request{Kind: fleet.Identity, Name: s.name, Count: 1, Limit: s.a.opts.Limit, Anywhere: s.anywhere}
	for {
		got := server.Take(ctx, next)
		if got.Err != nil {
			return 0, got.Err
		}
		free, err := s.border(ctx, got.Low)
		if err != nil || free == got.Low {
			return free, err
		}
		raise := next
		raise.Exact = free
		raised := server.Take(ctx, raise)
		if raised.Err != nil || raised.Low == free {
			return free, raised.Err
		}
	}
}

// border finds a free number at or above from. Unless it is from, the number before it is taken.
func (s *search) border(ctx context.Context, from int64) (int64, error) {
	low, high := from-1, from // low is taken or below all, high is tried next
	for step := int64(1); ; step *= 2 {
		taken, err := s.isTaken(ctx, high)
		if err != nil {
			return 0, err
		}
		if !taken {
			break
		}
		low = high
		if high == s.a.opts.Limit {
			return 0, fmt.Errorf("%s: %w: every number that was tried up to the limit %d is taken", s.name, ErrExhausted, high)
		}
		high += min(step, s.a.opts.Limit-high) // high is at least step, so it is the limit before step overflows
	}
	for high-low > 1 {
		middle := low + (high-low)/2
		taken, err := s.isTaken(ctx, middle)
		if err != nil {
			return 0, err
		}
		if taken {
			low = middle
		} else {
			high = middle
		}
	}
	return high, nil
}

// isTaken reports whether a document has a number, as taken reports it.
func (s *search) isTaken(ctx context.Context, number int64) (bool, error) {
	if ctx.Err() != nil {
		return false, failure.Ended(ctx, s.name, nil)
	}
	s.tries++
	id := s.name + s.a.opts.Separator + strconv.FormatInt(number, 10)
	taken, err := s.taken(ctx, id)
	if err != nil {
		s.failed = true
		return false, fmt.Errorf("%s: document %s: %w", s.name, id, err)
	}
	return taken, nil
}

// TakenKeys returns a TakenFunc for documents that are keys of a Redis. format makes the key of an id, as in
// fmt.Sprintf("doc:%s", id). Each call is an EXISTS.
func TakenKeys(client redis.UniversalClient, format string) TakenFunc {
	return func(ctx context.Context, id string) (bool, error) {
		n, err := client.Exists(ctx, fmt.Sprintf(format, id)).Result()
		if err != nil {
			return false, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		return n > 0, nil
	}
}
