package redisurl

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// FuzzParse checks that any text is either one kind of server, of which a client can be made, or an error.
func FuzzParse(f *testing.F) {
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
			if got != nil || err.Error() == "" {
				t.Errorf("%q: got %+v beside %v", url, got, err)
			}
			return
		}
		if Address(got) == "" {
			t.Errorf("%q has no address", url)
		}
		got.MinIdleConns = 0 // they would be opened at once
		client := redis.NewUniversalClient(got)
		if err := client.Close(); err != nil {
			t.Errorf("%q: %v", url, err)
		}
	})
}

// FuzzErrorShowsNoSecret puts a secret wherever a URL may contain one, with random text in it.
func FuzzErrorShowsNoSecret(f *testing.F) {
	shapes := []string{
		"redis://ann:SECRET@h:1/0", "redis://SECRET@h:1/0", "rediss://:SECRET@h?max_retries=x", "redis://ann:SECRET@h:x/0", "ann:SECRET@h:1",
		"redis:ann:SECRET@h:1", "unix://ann:SECRET@/run/redis.sock", "unix://ann:SECRET@run/redis.sock", "redis+sentinel://ann:SECRET@h1,h2/0",
		"redis+sentinel://h/m/0?sentinel_password=SECRET", "redis+sentinel://h/m/0?username=ann&password=SECRET", "redis+cluster://ann:SECRET@h1,h2:x?a=%zz",
		"redis://h/0?password=SECRET", "redis://h/0?max_retries=SECRET", "redis+cluster://h?dial_timeout=SECRET", "redis+cluster://h?addr=SECRET",
		"http://ann:SECRET@h",
	}
	for _, middle := range []string{"", "@", "/", "?", "#", ":", "%", "%zz", " ", ",", "=", "@h:1/", "://", "&db=", "\n", "@h/m/0?a=b", "\x00", "1/"} {
		f.Add(middle)
	}
	f.Fuzz(func(t *testing.T, middle string) {
		const begin, end = "Zq7", "qZ9" // to be found even when only one half of the secret is shown
		for _, shape := range shapes {
			url := strings.Replace(shape, "SECRET", begin+middle+end, 1)
			shown := Redact(url)
			if o, err := Parse(url); err != nil {
				shown += err.Error()
			} else {
				shown += Address(o)
			}
			if strings.Contains(shown, begin) || strings.Contains(shown, end) {
				t.Errorf("%q shows %q", url, shown)
			}
		}
	})
}
