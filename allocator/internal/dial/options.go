package dial

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// defaultTimeout leaves a half of an attempt at a server for the login and the request.
const defaultTimeout = time.Second

// Options has the fields of the options of a client that Tune sets. The kinds of clients have them under the same names, in
// types of their own.
type Options struct {
	MaxRetries, DialerRetries *int
	DialTimeout               *time.Duration
	HeedContext               *bool // ContextTimeoutEnabled
	Anonymous                 *bool // DisableIdentity
	Suffix                    string
	Maintenance               **maintnotifications.Config
	Caches                    bool // on the side of the client
	Dialer                    *Func
	TLS                       **tls.Config
}

// Tune sets what is recommended, where nothing is set. Package allocator documents it.
func (o Options) Tune() {
	*o.MaxRetries = cmp.Or(*o.MaxRetries, -1)
	*o.DialerRetries = cmp.Or(*o.DialerRetries, 1)
	*o.DialTimeout = cmp.Or(*o.DialTimeout, defaultTimeout)
	*o.HeedContext = true
	*o.Anonymous = *o.Anonymous || o.Suffix == ""
	*o.Maintenance = cmp.Or(*o.Maintenance, &maintnotifications.Config{Mode: maintnotifications.ModeDisabled})
	if o.Caches { // which read the socket below
		return
	}
	below := *o.Dialer
	if below == nil {
		below = func(ctx context.Context, network, addr string) (net.Conn, error) { // with the options at the time of the call
			return redis.NewDialer(&redis.Options{DialTimeout: *o.DialTimeout, TLSConfig: *o.TLS})(ctx, network, addr)
		}
	}
	*o.Dialer = Remember(below)
}
