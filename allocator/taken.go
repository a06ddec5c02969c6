package allocator

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// TakenKeys is a TakenFunc for documents kept as keys of a Redis: format makes
// the key of an id, as in fmt.Sprintf("doc:%s", id). Each question is an EXISTS.
func TakenKeys(client redis.UniversalClient, format string) TakenFunc {
	return func(ctx context.Context, id string) (bool, error) {
		n, err := client.Exists(ctx, fmt.Sprintf(format, id)).Result()
		if err != nil {
			return false, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		return n > 0, nil
	}
}
