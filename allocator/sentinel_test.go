package allocator

import (
	"errors"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// go-redis by itself reports that all sentinels are unreachable.
func TestNextReportsAMasterThatTheSentinelsDoNotHave(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		addrs := redistest.StartSentinels(t, s, 1, 0).Addrs()
		opts := func() *redis.FailoverOptions {
			return &redis.FailoverOptions{MasterName: "wrong", SentinelAddrs: addrs}
		}
		connect := func(url string) redis.UniversalClient {
			client, err := Connect(url)
			if err != nil {
				t.Fatal(err)
			}
			return client
		}
		dead := redistest.StartMini(t)
		dead.Kill()
		for name, client := range map[string]redis.UniversalClient{
			"Connect":                     connect("redis+sentinel://" + addrs[0] + "/wrong"),
			"Connect, a sentinel is down": connect("redis+sentinel://" + dead.HostPort() + "," + addrs[0] + "/wrong/3?max_retries=2&pool_size=1"),
			"as it is":                    redis.NewFailoverClient(opts()),
			"tuned":                       redis.NewFailoverClient(TuneFailover(opts())),
			"with routing":                redis.NewFailoverClusterClient(TuneFailover(opts())),
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				t.Cleanup(func() { _ = client.Close() })
				a := mustNew(t, client, Options{})
				_, err := a.Next(t.Context(), "orders")
				for _, err := range []error{err, a.Check(t.Context())} {
					if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "have no master of the name") {
						t.Errorf("got %v, want ErrUnavailable, and that the sentinels have no such master", err)
					}
				}
			})
		}
	})
}
