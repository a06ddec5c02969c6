package allocator

import (
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator/redisurl"
)

// Connect returns a client of the server that a URL names, with the options that Tune recommends. It does no I/O, so that an
// error is always about the URL, and is [ErrInvalidOptions]. It names the URL without its password, the part and the rule. The
// caller closes the client, after the Allocator.
//
//	redis://USER:PASSWORD@HOST:6379/0          one server, whose options may follow: ?pool_size=20&read_timeout=1s
//	rediss://HOST:6379/0                       with TLS; ?server_name=NAME is the name of its certificate
//	HOST:PORT                                  redis://HOST:PORT/0
//	unix:///run/redis.sock?db=0                a socket
//	redis+sentinel://HOST,HOST:26379/NAME/0    the primary NAME of sentinels; ?sentinel_username=USER&sentinel_password=PASSWORD
//	redis+cluster://HOST,HOST:6379             a cluster
//
// The last two have forms with rediss, too. For certificates of a client, or a password that changes, take the options of
// [redisurl.Parse] and call [TuneUniversal].
func Connect(url string) (redis.UniversalClient, error) {
	opts, err := redisurl.Parse(url)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidOptions, err)
	}
	return redis.NewUniversalClient(TuneUniversal(opts)), nil
}
