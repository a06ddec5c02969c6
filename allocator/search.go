package allocator

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// TakenFunc tells whether there is a document with this id.
type TakenFunc func(ctx context.Context, id string) (bool, error)

// NextFreeIdentity gives a value of an identity that no document has, and how often it asked taken. It is for a server
// that took over from another, whose documents are there and whose counter is not: from the counter's next value on it
// tries ever larger steps until an id is free, then halves back to the border, so that n documents cost about 2*log2(n)
// questions; and it sets the counter there, so that the next call asks once. A free number below a taken one may be
// passed over. Callers side by side get different values; the counter never goes back. What is tried and not used is a
// gap.
//
// It asks the home of identities. With Options.FreeIdentityAnywhere it goes on at the other servers, in order, when
// that is away. It is then for one writer at a time: two callers at two servers who have not stored their documents yet
// can get the same number, and so can one whose document is not stored when the home is back. Errors: as NextIdentity,
// and those of taken.
func (a *Allocator) NextFreeIdentity(ctx context.Context, name string, taken TakenFunc) (number int64, tries int, err error) {
	if taken == nil {
		return 0, 0, fmt.Errorf("allocator: %s: %w: taken is nil", name, ErrInvalidOptions)
	}
	if name, err = a.identityName(name); err != nil {
		return 0, 0, err
	}
	search := search{a: a, name: name, taken: taken}
	var home *server
	number, err = a.atHome(ctx, name, func(s *server) (int64, error) {
		home = s
		return search.run(ctx, a.identity(s, name))
	})
	if away := errors.Is(err, ErrUnavailable) || errors.Is(err, ErrNotDurable); away && a.opts.FreeIdentityAnywhere && !search.failed {
		search.anywhere = true
		failures := []error{err}
		for _, s := range a.servers {
			if s == home || err == nil || !anotherMayHelp(err) || search.failed {
				continue
			}
			if number, err = search.run(ctx, a.identity(s, name)); err != nil {
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

// search is one NextFreeIdentity, anywhere or only where identities are at home. failed says that taken did.
type search struct {
	a        *Allocator
	name     string
	taken    TakenFunc
	anywhere bool
	tries    int
	failed   bool
}

// run tries the next value that the counter gives, and on from there.
//
// A number belongs to the caller when the script gave it, as the next value or by raising the counter from below it in
// one step. So no two callers get the same one, whatever they found free, and a caller that comes second starts again
// above.
func (s *search) run(ctx context.Context, l *line) (int64, error) {
	for {
		got := l.ask(ctx, &asker{name: s.name, count: 1, anywhere: s.anywhere})
		if got.err != nil {
			return 0, got.err
		}
		free, err := s.border(ctx, got.low)
		if err != nil || free == got.low {
			return free, err
		}
		raised := l.ask(ctx, &asker{name: s.name, count: 1, very: free, anywhere: s.anywhere})
		if raised.err != nil || raised.low == free {
			return free, raised.err
		}
	}
}

// border finds a free number, from on, above a taken one unless it is from.
func (s *search) border(ctx context.Context, from int64) (int64, error) {
	low, high := from-1, from // low is taken, or below all; high is tried next
	for step := int64(1); ; step *= 2 {
		isTaken, err := s.question(ctx, high)
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
		isTaken, err := s.question(ctx, middle)
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

func (s *search) question(ctx context.Context, number int64) (bool, error) {
	if ctx.Err() != nil {
		return false, ended(ctx, s.name, nil)
	}
	s.tries++
	id := s.name + s.a.opts.Separator + strconv.FormatInt(number, 10)
	isTaken, err := s.taken(ctx, id)
	if err != nil {
		s.failed = true
		return false, fmt.Errorf("%s: is there a document %s: %w", s.name, id, err)
	}
	return isTaken, nil
}

// TakenKeys is a TakenFunc for documents kept as keys of a Redis: format makes the key of an id, as in
// fmt.Sprintf("doc:%s", id). Each question is an EXISTS.
func TakenKeys(client redis.UniversalClient, format string) TakenFunc {
	return func(ctx context.Context, id string) (bool, error) {
		n, err := client.Exists(ctx, fmt.Sprintf(format, id)).Result()
		if err != nil {
			return false, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		return n > 0, nil
	}
}
