package target

import (
	"testing"

	"github.com/redis/go-redis/v9"
)

// FuzzParseURL checks that any value of --redis is either one kind of server, of which a client can be made, or a mistake in the
// command line.
func FuzzParseURL(f *testing.F) {
	for _, url := range []string{
		"redis://127.0.0.1:6379/0", "rediss://ann:p%40ss@h:1/3?max_retries=2", "unix://ann:x@/run/redis.sock?db=2", "embedded:", "north=redis://[::1]:7/0",
		"rediss+sentinel://ann:x@h1:1,h2/m/4?sentinel_password=y&dial_timeout=3s", "redis+cluster://ann:x@h1:1,[::1]:2,h3?read_timeout=1s",
		"redis://h?pool_size=99999999999", "redis://h:70000", "redis+sentinel://h/m/-1", "redis+cluster://,", "http://h", "", "=", "://",
	} {
		f.Add(url)
	}
	f.Fuzz(func(t *testing.T, url string) {
		got, err := Parse(url)
		if err != nil {
			if got.options != nil || err.Error() == "" {
				t.Errorf("%q: %+v beside %v", url, got, err)
			}
			return
		}
		if got.Addr == "" {
			t.Errorf("%q has no address", url)
		}
		if got.Embedded {
			return
		}
		optionsOf(got).MinIdleConns = 0 // they would be opened at once
		client := redis.NewUniversalClient(optionsOf(got))
		if err := client.Close(); err != nil {
			t.Errorf("%q: %v", url, err)
		}
	})
}
