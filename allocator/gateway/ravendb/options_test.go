package ravendb

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
)

func TestTimeoutIncludesDurability(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{})
	t.Cleanup(func() { _ = client.Close() })
	for d, want := range map[allocator.Durability]time.Duration{
		{}:                                       2 * time.Second,
		{Fsync: true}:                            5 * time.Second,
		{Replicas: 1}:                            3 * time.Second,
		{Replicas: 1, Fsync: true, Timeout: 5e9}: 12 * time.Second,
	} {
		o, err := Options{Client: client, Durability: d}.withDefaults()
		if err != nil || o.timeout() != want {
			t.Errorf("%+v: got %v, %v, want %v", d, o.timeout(), err, want)
		}
	}
	if _, err := (Options{Client: client, Durability: allocator.Durability{Timeout: 1}}).withDefaults(); !errors.Is(err, allocator.ErrInvalidOptions) {
		t.Errorf("too short: got %v, want ErrInvalidOptions", err)
	}
	wrapped := Options{Client: struct{ redis.UniversalClient }{client}, Durability: allocator.Durability{Replicas: 1}}
	if _, err := wrapped.withDefaults(); !errors.Is(err, allocator.ErrInvalidOptions) {
		t.Errorf("a client that may ask another server: got %v, want ErrInvalidOptions", err)
	}
}
