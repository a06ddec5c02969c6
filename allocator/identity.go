package allocator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// NextIdentity gives the next value of an identity, 1 to Options.Limit: the number of `companies/1`, which never has a
// prefix or tag. A trailing "|" of the name is optional. Values are in the order of the calls and leave no gaps, unless
// a reply is lost, a caller leaves, or the guard jumps. They are above what a collection of this name gave without
// prefix and tag.
//
// A call is a round trip. Callers of one name who wait at the same time share it; one who leaves when its ctx ends
// harms no other.
//
// Identities of all names come from one server, their home: the one that says so (prefix.Server.Identities), wherever
// it stands in the order, or the only one where there is neither prefix nor tag. When it is away there are none.
// Errors: ErrInvalidName, ErrUnavailable, ErrIdentitiesElsewhere, ErrPrefixConflict where two servers say so,
// ErrPrefixMissing, ErrExhausted, ErrNotSeeded, ErrNotDurable, ErrMixed, ErrUnguarded, ErrCorrupt, ErrClosed.
func (a *Allocator) NextIdentity(ctx context.Context, name string) (int64, error) {
	r, err := a.NextIdentities(ctx, name, 1)
	return r.Low, err
}

// NextIdentities gives n consecutive values, 1 to 2^40. Errors: as NextIdentity, and ErrInvalidOptions for another n.
func (a *Allocator) NextIdentities(ctx context.Context, name string, n int64) (Range, error) {
	name, err := a.identityName(name)
	if err != nil {
		return Range{}, err
	}
	if n < 1 || n > largestRange {
		return Range{}, fmt.Errorf("allocator: %s: %w: %d identities: must be 1 to %d", name, ErrInvalidOptions, n, int64(largestRange))
	}
	low, err := a.atHome(ctx, name, func(s *server) (int64, error) {
		got := a.identity(s, name).ask(ctx, &asker{name: name, count: n})
		return got.low, got.err
	})
	if err != nil {
		return Range{}, fmt.Errorf("allocator: %w", err)
	}
	return Range{Low: low, High: low + n - 1}, nil
}

func (a *Allocator) identityName(name string) (string, error) {
	name = strings.TrimSuffix(name, identityMark)
	if err := prefix.ValidateCollection(name, a.opts.Separator); err != nil {
		return "", fmt.Errorf("allocator: identity: %w", err)
	}
	return name, a.open(name)
}

// open is ErrClosed after Close.
func (a *Allocator) open(what string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closing {
		return fmt.Errorf("allocator: %s: %w", what, ErrClosed)
	}
	return nil
}

// identity is the line of an identity at a server.
func (a *Allocator) identity(s *server, name string) *line {
	keys := scripts.Keys{Counter: s.keys.Identity(name), Server: s.keys.Server(), Other: s.keys.HiLo(name)}
	return a.lineOf(s, keys, a.opts.Limit)
}

// atHome asks the home of identities. One that says that it is so no more has all servers asked, once.
func (a *Allocator) atHome(ctx context.Context, name string, ask func(*server) (int64, error)) (int64, error) {
	for again, since := false, a.now(); ; again, since = true, a.now() {
		s, err := a.home(ctx, since)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		low, err := ask(s)
		if again || len(a.servers) == 1 || !errors.Is(err, ErrIdentitiesElsewhere) {
			return low, err
		}
		s.mu.Lock()
		s.home, s.homeAsked = false, a.now()
		s.mu.Unlock()
	}
}

// home is the server that identities come from: the only one, or the one that says so. Where it is not known, or two
// say so, the servers are asked, not before since: one of them may have been set right.
func (a *Allocator) home(ctx context.Context, since time.Duration) (*server, error) {
	if len(a.servers) == 1 {
		return a.servers[0], nil
	}
	for {
		s, err := a.knownHome()
		if s != nil && a.served.Load() {
			return s, nil
		}
		c := a.searched()
		select {
		case <-c.done:
		case <-ctx.Done():
			if errors.Is(err, ErrIdentitiesElsewhere) { // so far, and nobody has answered
				err = nil
			}
			return nil, ended(ctx, "identities", err)
		}
		switch {
		case c.began < since && !errors.Is(c.err, ErrClosed): // it says what was before
		case c.err != nil:
			return nil, c.err
		default:
			return a.knownHome()
		}
	}
}

// searched is the search for the home that is under way, or one that begins. It goes on when callers leave.
func (a *Allocator) searched() *check {
	a.searching.Lock()
	defer a.searching.Unlock()
	if a.search == nil {
		c := &check{began: a.now(), err: ErrClosed}
		a.search = c
		c.done = a.aside(func() {
			a.askAll(a.background, a.servers)
			if a.background.Err() == nil {
				c.err = a.judge(nil)
			}
			if home, _ := a.knownHome(); c.err == nil && home != nil && !a.served.Swap(true) {
				a.standBy()
			}
			a.searching.Lock()
			a.search = nil
			a.searching.Unlock()
		})
	}
	return a.search
}

func (a *Allocator) knownHome() (*server, error) {
	var home *word
	var unknown []error
	for _, s := range a.servers {
		w := s.word()
		switch {
		case w.home && home != nil:
			return nil, twoHomes(*home, w)
		case w.home:
			home = &w
		case w.down != nil && !clashes(w.down): // it may be the one
			unknown = append(unknown, s.failed("identities", w.down))
		}
	}
	switch {
	case home != nil:
		return home.server, nil
	case unknown != nil:
		return nil, errors.Join(unknown...)
	}
	return nil, fmt.Errorf("%w: no server says that it is the home of identities", ErrIdentitiesElsewhere)
}

func twoHomes(w, other word) error {
	return fmt.Errorf("%w: %s and %s both say that they are the home of identities; one of them has to be", ErrPrefixConflict, w.name, other.name)
}
