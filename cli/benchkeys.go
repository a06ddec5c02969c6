package cli

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
)

// probe makes sure, before anything is written, that it can be removed.
func (b bench) probe(ctx context.Context, client redis.UniversalClient, key string) error {
	if b.Keep && !b.Compare {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, b.Timeout)
	defer cancel()
	if err := client.Del(ctx, key).Err(); err != nil {
		return fmt.Errorf("%w: %w", allocator.ErrUnavailable, err)
	}
	return nil
}

// clean removes the keys, by their names. It says if it cannot, whatever was wrong before.
func (b bench) clean(ctx context.Context, client redis.UniversalClient, scratch string, before error) error {
	var keys []string
	if b.Compare {
		keys = append(keys, scratch)
	}
	if !b.Keep {
		for _, name := range b.Collections {
			keys = append(keys, prefix.NewKeys(b.Namespace).HiLo(name))
		}
	}
	const atOnce = 1000
	for ; len(keys) > 0; keys = keys[min(atOnce, len(keys)):] {
		err := b.remove(ctx, client, keys[:min(atOnce, len(keys))])
		if err == nil {
			continue
		}
		left := fmt.Sprintf("the keys of the benchmark could not be removed (%s): %d, of which the first is %s; remove them with redis-cli",
			plain(err), len(keys), keys[0])
		if before == nil {
			return &failure{code: exitFailed, text: left, cause: err}
		}
		b.Log.Warn("the benchmark did not clean up", zap.String("left", left))
		break
	}
	return before
}

func (b bench) remove(ctx context.Context, client redis.UniversalClient, keys []string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.Timeout)
	defer cancel()
	return client.Del(ctx, keys...).Err()
}
