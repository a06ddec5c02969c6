package allocator

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/prefix"
)

const (
	fieldPrefix = "ServerPrefix"
	fieldTag    = "NodeTag"
)

// ServerPrefix gives what the server adds to each identifier; zero where it
// adds nothing. Errors: ErrCorrupt, ErrUnavailable.
func (m *Admin) ServerPrefix(ctx context.Context) (prefix.Server, error) {
	key := m.keys.Server()
	values, err := m.client.HMGet(ctx, key, fieldPrefix, fieldTag).Result()
	if redis.HasErrorPrefix(err, "WRONGTYPE") {
		return prefix.Server{}, fmt.Errorf("allocator: %w: key %s is not a hash", ErrCorrupt, key)
	}
	if err != nil {
		return prefix.Server{}, adminError(ctx, key, err)
	}
	var s prefix.Server
	s.ServerPrefix, _ = values[0].(string)
	s.NodeTag, _ = values[1].(string)
	if err := s.Validate(); err != nil {
		return prefix.Server{}, fmt.Errorf("allocator: %w: key %s: %w", ErrCorrupt, key, err)
	}
	return s, nil
}

// SetServerPrefix sets both parts at once; an empty one is removed. Ranges
// already handed out keep what they were given with. Errors: ErrInvalidName,
// ErrCorrupt, ErrUnavailable.
func (m *Admin) SetServerPrefix(ctx context.Context, s prefix.Server) error {
	if err := s.Validate(); err != nil {
		return fmt.Errorf("allocator: %w", err)
	}
	key := m.keys.Server()
	_, err := m.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		for field, value := range map[string]string{fieldPrefix: s.ServerPrefix, fieldTag: s.NodeTag} {
			if value == "" {
				p.HDel(ctx, key, field)
			} else {
				p.HSet(ctx, key, field, value)
			}
		}
		return nil
	})
	if redis.HasErrorPrefix(err, "WRONGTYPE") {
		return fmt.Errorf("allocator: %w: key %s is not a hash", ErrCorrupt, key)
	}
	if err != nil {
		return adminError(ctx, key, err)
	}
	return nil
}
