package target

import (
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
		{"the default", "redis://127.0.0.1:6379/0", "127.0.0.1:6379", func(t Target) bool { return t.single.DB == 0 }},
		{"all parts", "redis://ann:p%40ss@h:1/3?max_retries=2", "h:1", func(t Target) bool {
			return t.single.Username == "ann" && t.single.Password == "p@ss" && t.single.DB == 3 && t.single.MaxRetries == 2
		}},
		{"with TLS", "rediss://h", "h:6379", func(t Target) bool { return t.single.TLSConfig.ServerName == "h" }},
		{"IPv6", "redis://[::1]:7/0", "[::1]:7", func(t Target) bool { return t.single.Addr == "[::1]:7" }},
		{"a socket", "unix:///run/redis.sock?db=2", "/run/redis.sock", func(t Target) bool {
			return t.single.Network == "unix" && t.single.DB == 2
		}},
		{"a socket with a login", "unix://ann:x@/run/redis.sock", "/run/redis.sock", func(t Target) bool {
			return t.single.Username == "ann" && t.single.Password == "x"
		}},
		{"a scheme in capitals", "REDIS://h", "h:6379", func(t Target) bool { return t.single != nil }},
		{"embedded", "embedded:", "the embedded server", func(t Target) bool { return t.Embedded }},
		{"a name", "north=redis://h?max_retries=1", "h:6379", func(t Target) bool { return t.Name == "north" }},
		{"no name", "redis://h?max_retries=1", "h:6379", func(t Target) bool { return t.Name == "" }},
		{
			"sentinels", "redis+sentinel://ann:x@h1:1,h2/mymaster/4?sentinel_password=y&dial_timeout=3s",
			"mymaster by way of the sentinels h1:1, h2:26379",
			func(t Target) bool {
				f := t.failover
				return strings.Join(f.SentinelAddrs, " ") == "h1:1 h2:26379" && f.MasterName == "mymaster" && f.DB == 4 &&
					f.Username == "ann" && f.Password == "x" && f.SentinelPassword == "y" && f.TLSConfig == nil
			},
		},
		{
			"sentinels with nothing more", "redis+sentinel://h/m", "m by way of the sentinels h:26379",
			func(t Target) bool { return t.failover.DB == 0 && t.failover.Password == "" },
		},
		{
			"sentinels with the login as options", "redis+sentinel://h/m?username=ann&password=x", "m by way of the sentinels h:26379",
			func(t Target) bool { return t.failover.Username == "ann" && t.failover.Password == "x" },
		},
		{
			"sentinels with TLS", "rediss+sentinel://h/m", "m by way of the sentinels h:26379",
			func(t Target) bool { return t.failover.TLSConfig != nil },
		},
		{
			"a cluster", "redis+cluster://ann:x@h1:1,[::1]:2,h3?read_timeout=1s", "the cluster h1:1, [::1]:2, h3:6379",
			func(t Target) bool {
				c := t.Cluster
				return strings.Join(c.Addrs, " ") == "h1:1 [::1]:2 h3:6379" && c.Username == "ann" && c.Password == "x"
			},
		},
		{
			"a cluster with TLS and database 0", "rediss+cluster://h/0", "the cluster h:6379",
			func(t Target) bool { return t.Cluster.TLSConfig != nil },
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
			if !endsWithContext(client) {
				t.Error("ContextTimeoutEnabled is off")
			}
		})
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
