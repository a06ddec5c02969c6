package redisurl

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

func TestParseReturnsTheOptionsOfEveryKindOfURL(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, url, addr string
		check           func(o *redis.UniversalOptions) bool
	}{
		{"the default", "redis://127.0.0.1:6379/0", "127.0.0.1:6379", func(o *redis.UniversalOptions) bool { return o.DB == 0 }},
		{"all parts", "redis://ann:p%40ss@h:1/3?max_retries=2", "h:1", func(o *redis.UniversalOptions) bool {
			return o.Username == "ann" && o.Password == "p@ss" && o.DB == 3 && o.MaxRetries == 2
		}},
		{"an address alone", "localhost:6379", "localhost:6379", func(o *redis.UniversalOptions) bool { return o.DB == 0 }},
		{"an IPv6 address alone", "[::1]:7", "[::1]:7", func(o *redis.UniversalOptions) bool { return o.DB == 0 }},
		{"with TLS", "rediss://h", "h:6379", func(o *redis.UniversalOptions) bool { return o.TLSConfig.ServerName == "h" }},
		{"IPv6", "redis://[::1]:7/0", "[::1]:7", func(o *redis.UniversalOptions) bool { return o.Addrs[0] == "[::1]:7" }},
		{"a socket", "unix:///run/redis.sock?db=2", "/run/redis.sock", func(o *redis.UniversalOptions) bool {
			return o.Simple().Addr == "/run/redis.sock" && o.DB == 2
		}},
		{"a socket with a login", "unix://ann:x@/run/redis.sock", "/run/redis.sock", func(o *redis.UniversalOptions) bool {
			return o.Username == "ann" && o.Password == "x"
		}},
		{"a scheme in capitals", "REDIS://h", "h:6379", func(o *redis.UniversalOptions) bool { return o.Addrs[0] == "h:6379" }},
		{
			"sentinels", "redis+sentinel://ann:x@h1:1,h2/mymaster/4?sentinel_password=y&dial_timeout=3s",
			"mymaster by way of the sentinels h1:1, h2:26379",
			func(f *redis.UniversalOptions) bool {
				return strings.Join(f.Addrs, " ") == "h1:1 h2:26379" && f.MasterName == "mymaster" && f.DB == 4 &&
					f.Username == "ann" && f.Password == "x" && f.SentinelPassword == "y" && f.TLSConfig == nil
			},
		},
		{
			"sentinels with nothing more", "redis+sentinel://h/m", "m by way of the sentinels h:26379",
			func(o *redis.UniversalOptions) bool { return o.DB == 0 && o.Password == "" },
		},
		{
			"sentinels with the login as options", "redis+sentinel://h/m?username=ann&password=x", "m by way of the sentinels h:26379",
			func(o *redis.UniversalOptions) bool { return o.Username == "ann" && o.Password == "x" },
		},
		{
			"sentinels with TLS", "rediss+sentinel://h/m", "m by way of the sentinels h:26379",
			func(o *redis.UniversalOptions) bool { return o.TLSConfig != nil },
		},
		{
			"a cluster", "redis+cluster://ann:x@h1:1,[::1]:2,h3?read_timeout=1s", "the cluster h1:1, [::1]:2, h3:6379",
			func(c *redis.UniversalOptions) bool {
				return c.IsClusterMode && strings.Join(c.Addrs, " ") == "h1:1 [::1]:2 h3:6379" && c.Username == "ann" && c.Password == "x"
			},
		},
		{
			"a cluster with TLS and database 0", "rediss+cluster://h/0", "the cluster h:6379",
			func(o *redis.UniversalOptions) bool { return o.IsClusterMode && o.TLSConfig != nil },
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := Parse(test.url)
			if err != nil {
				t.Fatal(err)
			}
			if addr := Address(got); addr != test.addr || !test.check(got) {
				t.Errorf("got %s, %+v, want %s", addr, got, test.addr)
			}
		})
	}
}

// A client of any kind has an option of the same name for each value that go-redis reads from a URL.
func TestParseKeepsEveryOptionOfAURL(t *testing.T) {
	t.Parallel()
	elsewhere := []string{
		"Network", "Addr", "NodeAddress", "SentinelAddrs", // the addresses, which are given beside the rest
		"ReplicaOnly", "UseDisconnectedReplicas", // refused
		"DialerRetryBackoff", "Limiter", "ClusterSlots", "ClusterStateReloadInterval", "NewClient", "DisableRoutingPolicies", "ShardPicker", // of no URL
	}
	all := reflect.TypeFor[redis.UniversalOptions]()
	for _, kind := range []reflect.Type{
		reflect.TypeFor[redis.Options](), reflect.TypeFor[redis.FailoverOptions](), reflect.TypeFor[redis.ClusterOptions](),
	} {
		for field := range kind.Fields() {
			if !field.IsExported() || slices.Contains(elsewhere, field.Name) {
				continue
			}
			if same, found := all.FieldByName(field.Name); !found || same.Type != field.Type {
				t.Errorf("%s of %s is lost", field.Name, kind)
			}
		}
	}
}

func TestParseNamesTheURLWithoutItsPassword(t *testing.T) {
	t.Parallel()
	tests := []struct{ url, want string }{
		{"", `URL "" is empty`},
		{"localhost", "URL … must be HOST:PORT, or begin with redis://"},
		{"h:65536", "URL h:65536 has a port that is not a number from 1 to 65535"},
		{"ann:secret@h:6379", "URL … must be HOST:PORT"},
		{"north=redis://h", "URL … must be HOST:PORT"},
		{"embedded:", "URL … must be HOST:PORT"},
		{"http://h", "URL http://h must be HOST:PORT"},
		{"redis://ann:secret@h/main", "URL redis://…@h/… has a database that is not a number"},
		{"redis://ann:secret", "URL redis://… is not a valid URL"},
		{"redis://ann:se/secret@h", "URL redis://… is not a valid URL; in a user or password, characters such as @"},
		{"redis://h1,h2:7", "URL redis://h1,h2:7 names several hosts"},
		{"redis+sentinel://ann:secret@[::1]:1,h2", "URL redis+sentinel://…@[::1]:1,h2 names no master"},
		{"redis+cluster://h?password=secret&read_only=true", "URL redis+cluster://h/… has an option read_only"},
		{"unix://ann:secret@run/redis.sock", "URL unix://…@run/… has no absolute path"},
	}
	for _, test := range tests {
		t.Run(test.url, func(t *testing.T) {
			t.Parallel()
			o, err := Parse(test.url)
			if _, typed := errors.AsType[*Error](err); o != nil || !typed || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("got %v, %v, want an error that begins with %q", o, err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, want no password", err)
			}
		})
	}
}
