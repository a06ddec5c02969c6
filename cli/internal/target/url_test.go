package target

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestURLsOfEveryKind(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, url, addr string
		check           func(t Target) bool
	}{
		{"the default", "redis://127.0.0.1:6379/0", "127.0.0.1:6379", func(t Target) bool { return optionsOf(t).DB == 0 }},
		{"all parts", "redis://ann:p%40ss@h:1/3?max_retries=2", "h:1", func(t Target) bool {
			return optionsOf(t).Username == "ann" && optionsOf(t).Password == "p@ss" && optionsOf(t).DB == 3 && optionsOf(t).MaxRetries == 2
		}},
		{"an address alone", "localhost:6379", "localhost:6379", func(t Target) bool { return optionsOf(t).DB == 0 && t.Name == "" }},
		{"an address alone with a name", "north=10.0.0.1:7", "10.0.0.1:7", func(t Target) bool { return t.Name == "north" }},
		{"an IPv6 address alone", "[::1]:7", "[::1]:7", func(t Target) bool { return optionsOf(t).DB == 0 }},
		{"with TLS", "rediss://h", "h:6379", func(t Target) bool { return optionsOf(t).TLSConfig.ServerName == "h" }},
		{"IPv6", "redis://[::1]:7/0", "[::1]:7", func(t Target) bool { return optionsOf(t).Addrs[0] == "[::1]:7" }},
		{"a socket", "unix:///run/redis.sock?db=2", "/run/redis.sock", func(t Target) bool {
			return optionsOf(t).Simple().Addr == "/run/redis.sock" && optionsOf(t).DB == 2
		}},
		{"a socket with a login", "unix://ann:x@/run/redis.sock", "/run/redis.sock", func(t Target) bool {
			return optionsOf(t).Username == "ann" && optionsOf(t).Password == "x"
		}},
		{"a scheme in capitals", "REDIS://h", "h:6379", func(t Target) bool { return optionsOf(t).Addrs[0] == "h:6379" }},
		{"embedded", "embedded:", "the embedded server", func(t Target) bool { return t.Embedded }},
		{"a name", "north=redis://h?max_retries=1", "h:6379", func(t Target) bool { return t.Name == "north" }},
		{"no name", "redis://h?max_retries=1", "h:6379", func(t Target) bool { return t.Name == "" }},
		{
			"sentinels", "redis+sentinel://ann:x@h1:1,h2/mymaster/4?sentinel_password=y&dial_timeout=3s",
			"mymaster by way of the sentinels h1:1, h2:26379",
			func(t Target) bool {
				f := optionsOf(t)
				return strings.Join(f.Addrs, " ") == "h1:1 h2:26379" && f.MasterName == "mymaster" && f.DB == 4 &&
					f.Username == "ann" && f.Password == "x" && f.SentinelPassword == "y" && f.TLSConfig == nil
			},
		},
		{
			"sentinels with nothing more", "redis+sentinel://h/m", "m by way of the sentinels h:26379",
			func(t Target) bool { return optionsOf(t).DB == 0 && optionsOf(t).Password == "" },
		},
		{
			"sentinels with the login as options", "redis+sentinel://h/m?username=ann&password=x", "m by way of the sentinels h:26379",
			func(t Target) bool { return optionsOf(t).Username == "ann" && optionsOf(t).Password == "x" },
		},
		{
			"sentinels with TLS", "rediss+sentinel://h/m", "m by way of the sentinels h:26379",
			func(t Target) bool { return optionsOf(t).TLSConfig != nil },
		},
		{
			"a cluster", "redis+cluster://ann:x@h1:1,[::1]:2,h3?read_timeout=1s", "the cluster h1:1, [::1]:2, h3:6379",
			func(t Target) bool {
				c := optionsOf(t)
				return t.IsCluster() && strings.Join(c.Addrs, " ") == "h1:1 [::1]:2 h3:6379" && c.Username == "ann" && c.Password == "x"
			},
		},
		{
			"a cluster with TLS and database 0", "rediss+cluster://h/0", "the cluster h:6379",
			func(t Target) bool { return t.IsCluster() && optionsOf(t).TLSConfig != nil },
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := Parse(test.url)
			if err != nil {
				t.Fatal(err)
			}
			if got.Addr != test.addr || !test.check(got) {
				t.Errorf("%+v", got)
			}
			client, closeAll, err := got.Open(time.Second)
			if err != nil {
				t.Fatal(err)
			}
			closeAll()
			if !endsWithContext(universalOf(client)) {
				t.Error("ContextTimeoutEnabled is off")
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

func endsWithContext(client redis.UniversalClient) bool {
	switch client := client.(type) {
	case *redis.Client:
		return client.Options().ContextTimeoutEnabled
	case *redis.ClusterClient:
		return client.Options().ContextTimeoutEnabled
	}
	return false
}

func TestLabelIsShort(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"redis://h1:1/0":                            "h1:1",
		"north=redis://h1:1/0":                      "north",
		"redis+sentinel://h1:1,h2:2,h3:3/mymaster":  "mymaster",
		"north=redis+sentinel://h1:1,h2:2/mymaster": "north",
	} {
		if got, err := Parse(url); err != nil || got.Label() != want {
			t.Errorf("%s: got %q, %v, want %q", url, got.Label(), err, want)
		}
	}
}
