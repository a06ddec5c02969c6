package allocator

import (
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"go.uber.org/zap"

	"github.com/hilo-id/hilo/allocator/internal/dial"
	"github.com/hilo-id/hilo/prefix"
)

// Options are the settings of an Allocator. The zero value works, and each zero means the default of the field. A value out
// of range is ErrInvalidOptions or, for the two names, ErrInvalidName.
type Options struct {
	// Namespace is the braced part of every key, 1 to 128 bytes in NFC without braces, white space, control and format
	// characters. Default "Raven".
	Namespace string
	// Separator stands between collection and number. It is one character in NFC that is not "|", a digit, a letter, white
	// space or a control or format character. Default "/".
	Separator string
	// MinCapacity is the size of a first range, 1 to MaxCapacity. Default 32. Raise it where a process begins with a burst, which
	// otherwise waits for several small ranges.
	MinCapacity int64
	// MaxCapacity bounds the size of a range as it doubles, up to 2^40. Default 1048576, which is 30 s at 35,000 identifiers a
	// second. Lower it where a killed process shall leave smaller gaps.
	MaxCapacity int64
	// Limit is the greatest number that may be issued. Calls beyond it return ErrExhausted. Default math.MaxInt64.
	Limit int64
	// Runway is the length of an outage that causes no error and no wait at the current rate, because enough numbers are
	// fetched ahead. Default 10 s.
	Runway time.Duration
	// RefillTimeout bounds one attempt against one server. Default 2 s.
	RefillTimeout time.Duration
	// FreeIdentityAnywhere lets NextFreeIdentity continue at the next server while the home of identities is down. It is
	// for one writer at a time, because two callers at two servers that have not stored their documents yet can receive
	// the same number.
	FreeIdentityAnywhere bool
	// CollectionOf names the collection of a Go type for Assign. If it is nil or returns "", that is the plural of the
	// type's name.
	CollectionOf func(reflect.Type) string
	// Logger receives jumps, outages, refusals and ceilings that cannot be raised, each once, and never a line per identifier or
	// attempt. Default zap.L(), the global logger, which is silent unless zap.ReplaceGlobals was called. The recipe
	// allocator/recipes/slogging makes one of a *slog.Logger. go-redis logs to standard error, whatever Logger is, unless
	// redis.SetLogger replaces its logger.
	Logger *zap.Logger
}

const (
	defaultMinCapacity   = 32
	defaultMaxCapacity   = 1 << 20
	defaultRunway        = 10 * time.Second
	defaultRefillTimeout = 2 * time.Second

	// maxRange bounds every range, so that a cursor cannot count through the room above it.
	maxRange = 1 << 40
)

// withDefaults checks o and fills its zeros.
func (o Options) withDefaults() (Options, error) {
	fill(&o.Namespace, prefix.DefaultNamespace)
	fill(&o.Separator, prefix.DefaultSeparator)
	fill(&o.MinCapacity, defaultMinCapacity)
	fill(&o.MaxCapacity, defaultMaxCapacity)
	fill(&o.Limit, math.MaxInt64)
	fill(&o.Runway, defaultRunway)
	fill(&o.RefillTimeout, defaultRefillTimeout)
	if o.Logger == nil {
		o.Logger = zap.L()
	}
	if err := prefix.ValidateNamespace(o.Namespace); err != nil {
		return o, fmt.Errorf("%w: Namespace: %w", ErrInvalidOptions, err)
	}
	if err := prefix.ValidateSeparator(o.Separator); err != nil {
		return o, fmt.Errorf("%w: Separator: %w", ErrInvalidOptions, err)
	}
	switch {
	case o.MaxCapacity < 1 || o.MaxCapacity > maxRange:
		return o, fmt.Errorf("%w: MaxCapacity is %d: must be 1 to %d", ErrInvalidOptions, o.MaxCapacity, int64(maxRange))
	case o.MinCapacity < 1 || o.MinCapacity > o.MaxCapacity:
		return o, fmt.Errorf("%w: MinCapacity is %d: must be 1 to MaxCapacity, %d", ErrInvalidOptions, o.MinCapacity, o.MaxCapacity)
	case o.Limit < 1:
		return o, fmt.Errorf("%w: Limit is %d: must be 1 or more", ErrInvalidOptions, o.Limit)
	case o.Runway < 0:
		return o, fmt.Errorf("%w: Runway is %v: must not be negative", ErrInvalidOptions, o.Runway)
	case o.RefillTimeout < 0:
		return o, fmt.Errorf("%w: RefillTimeout is %v: must not be negative", ErrInvalidOptions, o.RefillTimeout)
	}
	return o, nil
}

func fill[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Tune sets in place what hilo recommends for a client, where opts has none, and returns opts:
//
//   - MaxRetries -1 and DialerRetries 1. The allocator retries by itself, with back-off and the same token, and turns to the
//     next master sooner.
//   - DialTimeout 1 s.
//   - ContextTimeoutEnabled, so that a request ends with its context, and so that the hooks of the client are called.
//   - DisableIdentity, unless IdentitySuffix is set, and no notifications of maintenance. Their commands are more than the
//     rights of a worker permit, and each one that is denied is an entry in the ACL LOG of the server.
//   - Dialer, the one that opts has or else the default one, with a memory: after a connection ended, a request timed out, or a
//     server answered that it is not a primary, no connection to its address that was opened earlier is used for another request.
//     So the recovery takes one attempt, whatever the size of the pool. With client-side caching it stays as it is.
//
// An allocator works with clients without it, too. They recover from a silent outage, or from TLS connections that the server
// closed, with one attempt for each connection of their pool.
func Tune(opts *redis.Options) *redis.Options {
	dial.Options{
		MaxRetries: &opts.MaxRetries, DialerRetries: &opts.DialerRetries, DialTimeout: &opts.DialTimeout,
		HeedContext: &opts.ContextTimeoutEnabled, Dialer: &opts.Dialer, TLS: &opts.TLSConfig,
		Anonymous: &opts.DisableIdentity, Suffix: opts.IdentitySuffix, Maintenance: &opts.MaintNotificationsConfig,
		Caches: opts.ClientSideCache != nil || opts.ClientSideCacheConfig != nil,
	}.Tune()
	return opts
}

// TuneFailover is Tune for a client of Sentinel. The options are those of the connections to the sentinels, too.
func TuneFailover(opts *redis.FailoverOptions) *redis.FailoverOptions {
	none := new(maintnotifications.Config) // go-redis has none for such a client
	dial.Options{
		MaxRetries: &opts.MaxRetries, DialerRetries: &opts.DialerRetries, DialTimeout: &opts.DialTimeout,
		HeedContext: &opts.ContextTimeoutEnabled, Dialer: &opts.Dialer, TLS: &opts.TLSConfig,
		Anonymous: &opts.DisableIdentity, Suffix: opts.IdentitySuffix, Maintenance: &none,
	}.Tune()
	return opts
}

// TuneCluster is Tune for a client of a cluster. MaxRedirects stays as it is, because such a client follows a key by it.
func TuneCluster(opts *redis.ClusterOptions) *redis.ClusterOptions {
	dial.Options{
		MaxRetries: &opts.MaxRetries, DialerRetries: &opts.DialerRetries, DialTimeout: &opts.DialTimeout,
		HeedContext: &opts.ContextTimeoutEnabled, Dialer: &opts.Dialer, TLS: &opts.TLSConfig,
		Anonymous: &opts.DisableIdentity, Suffix: opts.IdentitySuffix, Maintenance: &opts.MaintNotificationsConfig,
	}.Tune()
	return opts
}

// TuneUniversal is Tune for a client of any kind.
func TuneUniversal(opts *redis.UniversalOptions) *redis.UniversalOptions {
	dial.Options{
		MaxRetries: &opts.MaxRetries, DialerRetries: &opts.DialerRetries, DialTimeout: &opts.DialTimeout,
		HeedContext: &opts.ContextTimeoutEnabled, Dialer: &opts.Dialer, TLS: &opts.TLSConfig,
		Anonymous: &opts.DisableIdentity, Suffix: opts.IdentitySuffix, Maintenance: &opts.MaintNotificationsConfig,
		Caches: opts.ClientSideCache != nil || opts.ClientSideCacheConfig != nil,
	}.Tune()
	return opts
}
