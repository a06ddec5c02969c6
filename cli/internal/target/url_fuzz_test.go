package target

import (
	"testing"

	"github.com/redis/go-redis/v9"
)

// FuzzARedisURL: whatever --redis says is one kind of server, of which a client can be made, or a mistake in the command line.
func FuzzARedisURL(f *testing.F) {
	for _, url := range []string{
		"redis://127.0.0.1:6379/0", "rediss://ann:p%40ss@h:1/3?max_retries=2", "unix://ann:x@/run/redis.sock?db=2", "embedded:", "north=redis://[::1]:7/0",
		"rediss+sentinel://ann:x@h1:1,h2/m/4?sentinel_password=y&dial_timeout=3s", "redis+cluster://ann:x@h1:1,[::1]:2,h3?read_timeout=1s",
		"redis://h?pool_size=99999999999", "redis://h:70000", "redis+sentinel://h/m/-1", "redis+cluster://,", "http://h", "", "=", "://",
	} {
		f.Add(url)
	}
	f.Fuzz(func(t *testing.T, url string) {
		got, err := Parse(url)
		kinds := 0
		for _, is := range []bool{got.single != nil, got.failover != nil, got.Cluster != nil, got.Embedded} {
			if is {
				kinds++
			}
		}
		if err != nil {
			if kinds != 0 || err.Error() == "" {
				t.Errorf("%q: %+v beside %v", url, got, err)
			}
			return
		}
		if kinds != 1 || got.Addr == "" {
			t.Errorf("%q: %d kinds, address %q", url, kinds, got.Addr)
		}
		var client redis.UniversalClient
		switch { // idle connections would be made at once
		case got.single != nil:
			got.single.MinIdleConns = 0
			client = redis.NewClient(got.single)
		case got.failover != nil:
			got.failover.MinIdleConns = 0
			client = redis.NewFailoverClient(got.failover)
		case got.Cluster != nil:
			got.Cluster.MinIdleConns = 0
			client = redis.NewClusterClient(got.Cluster)
		default:
			return
		}
		if err := client.Close(); err != nil {
			t.Errorf("%q: %v", url, err)
		}
	})
}
