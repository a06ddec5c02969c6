package gateway_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/gateway"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// A user with only the rights of a worker can do everything except the lists.
func TestGatewayNeedsTheRightsOfAWorker(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		err := s.Client(t).Do(t.Context(), "ACL", "SETUSER", "worker", "on", ">secret", "~{Raven}/*", "-@all",
			"+evalsha", "+eval", "+hmget", "+hset", "+hdel", "+exists", "+time", "+info", "+hello").Err()
		if err != nil {
			t.Fatal(err)
		}
		d := open(t, s, func(_ *allocator.Options, opts *gateway.Options) {
			options := redistest.Options(s)
			options.Username, options.Password = "worker", "secret"
			worker := redis.NewClient(options)
			t.Cleanup(func() { _ = worker.Close() })
			opts.Masters[0].Client, opts.RavenDB.Client = worker, worker
		})
		for _, tt := range []struct {
			method, target string
			status         int
		}{
			{"GET", "/readyz", 200},
			{"POST", "/v1/ids/orders", 200},
			{"POST", "/v1/identities/companies", 200},
			{"GET", "/databases/Shop/hilo/next?tag=users", 201},
			{"POST", "/databases/Shop/identity/next?name=people%7C", 200},
			{"GET", "/databases/Shop/healthcheck", 204},
			{"GET", "/cluster/node-info", 200},
		} {
			if a := d.send(tt.method, tt.target); a.status != tt.status {
				t.Errorf("%s %s: got %+v, want %d", tt.method, tt.target, a, tt.status)
			}
		}
	})
}
