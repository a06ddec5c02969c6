package allocator

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestConnectReturnsATunedClientOfEveryKind(t *testing.T) {
	t.Parallel()
	type options struct {
		heeds, anonymous bool
		retries          int
		dial             time.Duration
		tls              bool
	}
	tests := []struct {
		url  string
		want options
	}{
		{"h:1", options{true, true, 0, time.Second, false}},
		{"redis://ann:x@h:1/3", options{true, true, 0, time.Second, false}},
		{"redis://h:1?max_retries=2&dial_timeout=3s", options{true, true, 2, 3 * time.Second, false}},
		{"rediss://h", options{true, true, 0, time.Second, true}},
		{"unix:///run/redis.sock", options{true, true, 0, time.Second, false}},
		{"redis+sentinel://h1,h2/m", options{true, true, 0, time.Second, false}},
		{"rediss+sentinel://h1/m/2", options{true, true, 0, time.Second, true}},
		{"redis+cluster://h1,h2:7", options{true, true, 0, time.Second, false}},
		{"rediss+cluster://h1", options{true, true, 0, time.Second, true}},
	}
	for _, test := range tests {
		t.Run(test.url, func(t *testing.T) {
			t.Parallel()
			client, err := Connect(test.url)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = client.Close() })
			var got options
			switch client := client.(type) {
			case *redis.Client:
				o := client.Options()
				got = options{o.ContextTimeoutEnabled, o.DisableIdentity, o.MaxRetries, o.DialTimeout, o.TLSConfig != nil}
			case *redis.ClusterClient:
				o := client.Options()
				got = options{o.ContextTimeoutEnabled, o.DisableIdentity, o.MaxRetries, o.DialTimeout, o.TLSConfig != nil}
			}
			if got.retries == -1 { // as go-redis keeps no retries, depending on the kind of client
				got.retries = 0
			}
			if got != test.want {
				t.Errorf("got %T with %+v, want %+v", client, got, test.want)
			}
			if cluster := strings.Contains(test.url, "cluster"); cluster != isCluster(client) {
				t.Errorf("got %T, want a cluster client: %v", client, cluster)
			}
		})
	}
}

func isCluster(client redis.UniversalClient) bool {
	_, ok := client.(*redis.ClusterClient)
	return ok
}

func TestConnectRefusesWhatIsNoURL(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"":                               `URL "" is empty`,
		"embedded:":                      "must be HOST:PORT, or begin with redis://",
		"north=redis://h":                "must be HOST:PORT, or begin with redis://",
		"redis://ann:secret@h:65536/0":   "URL redis://…@h:65536/… has a port that is not a number from 1 to 65535",
		"redis://ann:secret@h1,h2":       "names several hosts",
		"redis://h?password=secret&x=1":  "unknown options",
		"redis+sentinel://ann:secret@h":  "URL redis+sentinel://…@h names no master",
		"redis+cluster://ann:secret@h/1": "names a database: a cluster has only database 0",
	} {
		t.Run(url, func(t *testing.T) {
			t.Parallel()
			client, err := Connect(url)
			if client != nil || !errors.Is(err, ErrInvalidOptions) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, %v, want ErrInvalidOptions with %q and no password", client, err, want)
			}
		})
	}
}

func TestConnectServesAnAllocator(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client, err := Connect(s.URL())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Close() })
		if id, err := mustNew(t, client, Options{}).Next(t.Context(), "orders"); id != "orders/1" || err != nil {
			t.Errorf("got %q, %v, want orders/1", id, err)
		}
	})
}
