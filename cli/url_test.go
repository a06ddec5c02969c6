package cli

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/target"
)

func TestParseNamesTheRuleThatAURLBreaks(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, url, want string }{
		{"empty", "", "is empty: give it a URL, or remove it"},
		{"empty behind a name", "north=", "of north is empty"},
		{"no scheme and no port", "localhost", "must be HOST:PORT or embedded:, or begin with"},
		{"another scheme", "http://h", "must be HOST:PORT or embedded:, or begin with"},
		{"no slashes", "redis:h:6379", "must be HOST:PORT or embedded:, or begin with"},
		{"embedded with more", "embedded://x", "must be HOST:PORT or embedded:, or begin with"},
		{"a port that is a word", "redis://h:port", "not a valid URL"},
		{"a port too great", "redis://h:65536", "has a port that is not a number from 1 to 65535"},
		{"an address with a port too great", "south=h:65536", "of south has a port that is not"},
		{"a name that begins with a digit", "9a=redis://h", "a name before = that is not a letter"},
		{"a name with a space", "my server=redis://h", "a name before = that is not a letter"},
		{"no name before =", "=redis://h", "a name before = that is not a letter"},
		{"an address with a login", "ann:S3cr3t@h:6379", "must be HOST:PORT"},
		{"port 0", "redis+cluster://h:0", "1 to 65535"},
		{"a database that is a word", "redis://h/main", "database that is not a number"},
		{"a database below 0", "redis://h/-1", "negative database"},
		{"more than a database", "redis://h/0/1", "more than a database number"},
		{"two hosts", "redis://h1,h2", "several hosts: that takes redis+sentinel:// or redis+cluster://\n"},
		{"servers behind a comma", "north=redis://h,south=redis://i", "of north names several hosts: that takes redis+sentinel:// or redis+cluster://; separate servers by white space"},
		{"servers with logins behind a comma", "redis://ann:x@h,rediss://ann:y@i", "separate servers by white space in HILO_REDIS_URL, or repeat --redis"},
		{"addresses behind a comma", "north=h:1,south=i:1", "separate servers by white space"},
		{"a fragment", "redis://h/0#1", "not a valid URL"},
		{"an option of nobody", "redis://h?bogus=1", "bogus"},
		{"an option with a bad number", "redis://h?max_retries=many", "max_retries that is not a number"},
		{"an option with a bad duration", "redis://h?dial_timeout=soon", "dial_timeout that is not a duration"},
		{"a pool that go-redis panics at", "redis://h?pool_size=" + strconv.Itoa(math.MaxInt), "0 to 10000"},
		{"a pool below 0", "redis+cluster://h?pool_size=-1", "0 to 10000"},
		{"a password not escaped", "redis://ann:100%@h", "%40 for @"},
		{"a password with a slash", "redis://ann:12/34@h", "%40 for @"},
		{"a socket with a host", "unix://run/redis.sock", "three slashes"},
		{"a socket with no path", "unix://", "names no socket"},
		{"sentinels without a master", "redis+sentinel://h", "names no master"},
		{"a master like no name", "redis+sentinel://h/my%20master", "names no master"},
		{"sentinels with a bad database", "redis+sentinel://h/m/x", "database that is not a number"},
		{"sentinels, database below 0", "redis+sentinel://h/m/-1", "negative database"},
		{"a name for TLS without TLS", "redis://h?server_name=x", "rediss://"},
		{"an empty name for TLS", "rediss://h?server_name=", "server_name without a name"},
		{"a login twice", "redis+sentinel://a:b@h/m?password=c", "twice"},
		{"a replica", "redis+sentinel://h/m?replica_only=true", "replica_only"},
		{"routing that go-redis panics at", "redis+sentinel://h/m?route_randomly=true", "route_randomly"},
		{"an empty address", "redis+cluster://h1,,h2", "empty address"},
		{"a cluster's database", "redis+cluster://h/1", "only database 0"},
		{"reading from replicas", "redis+cluster://h?read_only=true", "read_only"},
		{"a bad escape", "redis+cluster://h?a=%zz", "not a valid URL"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			clitest.MustFail(t, exit.Usage, clitest.Hilo(t, "list", "--redis", test.url), "hilo: --redis ", test.want)
		})
	}
}

func TestServersAreTakenFromFlagsOrEnvironment(t *testing.T) {
	t.Parallel()
	const variable = "HILO_REDIS_URL"
	tests := []struct {
		name        string
		environment string
		args        []string
		code        int
		want        string // of stderr
	}{
		{"the environment", "embedded:", nil, exit.Done, ""},
		{"empty is as good as unset", " ", []string{"--redis", "embedded:"}, exit.Done, ""},
		{"a flag wins", "bad", []string{"--redis", "embedded:"}, exit.Done, ""},
		{"a bad one is named", "bad", nil, exit.Usage, variable + " must be"},
		{"several in the environment", "a=embedded: b=bad\n", nil, exit.Usage, variable + " of b must be"},
		{"several flags", "", []string{"--redis", "a=embedded:", "--redis", "b=embedded:"}, exit.Done, ""},
		{"several without names", "", []string{"--redis", "a=embedded:", "--redis", "embedded:"}, exit.Usage, "a name of its own"},
		{"two of one name", "", []string{"--redis", "a=embedded:", "--redis", "a=embedded:"}, exit.Usage, `two servers "a"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := clitest.HiloWith(t, map[string]string{variable: test.environment}, append([]string{"list", "--output", "json"}, test.args...)...)
			if test.code == exit.Done {
				if r.Code != exit.Done || r.Stderr != "" {
					t.Errorf("%+v", r)
				}
				return
			}
			clitest.MustFail(t, test.code, r, test.want)
		})
	}
}

// FuzzURLShowsNoSecret puts a secret wherever a URL may contain one, with random text around it.
func FuzzURLShowsNoSecret(f *testing.F) {
	shapes := []func(secret string) string{
		func(s string) string { return "redis://ann:" + s + "@h:1/0" },
		func(s string) string { return "redis://" + s + "@h:1/0" },
		func(s string) string { return "rediss://:" + s + "@h?max_retries=x" },
		func(s string) string { return "north=redis://ann:" + s + "@h:x/0" },
		func(s string) string { return "ann:" + s + "@h:1" },
		func(s string) string { return "redis:ann:" + s + "@h:1" },
		func(s string) string { return "unix://ann:" + s + "@/run/redis.sock" },
		func(s string) string { return "unix://ann:" + s + "@run/redis.sock" },
		func(s string) string { return "redis+sentinel://ann:" + s + "@h1,h2/m/0" },
		func(s string) string { return "redis+sentinel://ann:" + s + "@h1,h2/0" },
		func(s string) string { return "redis+sentinel://h/m/0?sentinel_password=" + s },
		func(s string) string { return "redis+sentinel://h/m/0?username=ann&password=" + s },
		func(s string) string { return "redis+cluster://ann:" + s + "@h1,h2" },
		func(s string) string { return "redis+cluster://ann:" + s + "@h1,h2:x?a=%zz" },
		func(s string) string { return "redis://h/0?password=" + s },
		func(s string) string { return "redis://h/0?max_retries=" + s },
		func(s string) string { return "redis+cluster://h?dial_timeout=" + s },
		func(s string) string { return "redis+cluster://h?addr=" + s },
		func(s string) string { return "http://ann:" + s + "@h" },
	}
	for _, middle := range []string{"", "@", "/", "?", "#", ":", "%", "%zz", " ", ",", "=", "@h:1/", "://", "&db=", "\n", "@h/m/0?a=b", "\x00", "1/"} {
		f.Add(middle)
	}
	f.Fuzz(func(t *testing.T, middle string) {
		const begin, end = "Zq7", "qZ9" // to be found even when only one half of the secret is shown
		secret := begin + middle + end
		for _, shape := range shapes {
			got, err := target.Parse(shape(secret))
			shown := got.Addr + " " + got.Name
			if err != nil {
				shown += err.Error()
				// A URL that does not parse causes no I/O, so the whole program can be run.
				r := clitest.Hilo(t, "next", "orders", "--log-level", "debug", "--redis", shape(secret))
				shown += r.Stdout + r.Stderr
				if r.Code != exit.Usage {
					t.Errorf("%q: exit %d", shape(secret), r.Code)
				}
			}
			if strings.Contains(shown, begin) || strings.Contains(shown, end) {
				t.Errorf("%q shows %q", shape(secret), shown)
			}
		}
	})
}
