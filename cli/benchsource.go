package cli

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
)

// source gives identifiers to one caller.
type source interface {
	// tryNext takes one if that needs no waiting.
	tryNext() bool
	// next takes one, however long that takes.
	next(ctx context.Context) error
}

// rotation takes from collections in turn.
type rotation struct {
	collections []*allocator.Collection
	at          int
}

func (r *rotation) tryNext() bool {
	_, ok := r.collections[r.at].TryNext()
	if ok {
		r.turn()
	}
	return ok
}

func (r *rotation) next(ctx context.Context) error {
	_, err := r.collections[r.at].Next(ctx)
	if err == nil {
		r.turn()
	}
	return err
}

func (r *rotation) turn() {
	if r.at++; r.at == len(r.collections) {
		r.at = 0
	}
}

// increment asks the server for each number, as one does without an allocator.
type increment struct {
	client redis.UniversalClient
	key    string
}

func (increment) tryNext() bool { return false }

func (i increment) next(ctx context.Context) error {
	if err := i.client.Incr(ctx, i.key).Err(); err != nil {
		return fmt.Errorf("%w: %w", allocator.ErrUnavailable, err)
	}
	return nil
}
