package allocator

import (
	"fmt"
	"math"
	"reflect"
	"time"

	"go.uber.org/zap"

	"github.com/hilo-id/hilo/prefix"
)

// Options are the settings of an Allocator. The zero value works; each zero means the default beside it. A value out of
// range is ErrInvalidOptions or, for the two names, ErrInvalidName.
type Options struct {
	// Namespace is the braced part of every key: 1 to 128 bytes without braces, white space and control characters.
	// Default "Raven".
	Namespace string
	// Separator stands between collection and number: one character that is not "|", a digit, a letter, white space or
	// a control. Default "/".
	Separator string
	// MinCapacity is the size of a first range, 1 to MaxCapacity. Default 32.
	MinCapacity int64
	// MaxCapacity bounds the size of a range as it doubles, up to 2^40. Default 1048576.
	MaxCapacity int64
	// Limit is the greatest number ever issued; past it: ErrExhausted. Default math.MaxInt64.
	Limit int64
	// Runway is how long an outage is ridden out at the current rate without an error or a wait: so much is fetched
	// ahead. Default 10 s.
	Runway time.Duration
	// RefillTimeout bounds one attempt against one server. Default 2 s.
	RefillTimeout time.Duration
	// RequireSeeded makes a missing counter ErrNotSeeded instead of a fresh start at 1.
	RequireSeeded bool
	// RequirePrefix makes a server with neither prefix nor tag give nothing: ErrPrefixMissing. Of several servers each
	// has to have one anyway; this is for one that has, and could come back empty.
	RequirePrefix bool
	// GuardGap is how far a counter jumps at least on evidence of lost writes. From there it goes on to a place within
	// 64 times as much. Default 0: the greatest of 65,536 (1,024 for identities), twice the capacity asked for, and
	// twice what was issued lately.
	GuardGap int64
	// FreeIdentityAnywhere has NextFreeIdentity go on at the next server when the home of identities is away. It is for
	// one writer at a time: two callers at two servers who have not stored their documents yet can get the same number.
	FreeIdentityAnywhere bool
	// Durability is what a range needs before it is used. Default: nothing.
	Durability Durability
	// CollectionOf names the collection of a Go type for Assign; "" leaves it to the convention. Default nil: the
	// convention, the plural of the type's name.
	CollectionOf func(reflect.Type) string
	// Logger gets a warning for each jump and each outage, never a line per identifier. Default nil: silent.
	Logger *zap.Logger
}

// Durability makes a range, or a value of an identity, count only when it is where the next failover or crash will find
// it. One that is not confirmed in time is discarded, a gap, with ErrNotDurable. It takes a *redis.Client or a
// *redis.ClusterClient itself: another client may ask another server than the one that wrote. The zero value asks for
// nothing.
type Durability struct {
	// Replicas hold it, by WAIT, 0 or more. To be safe from a failover it has to be all that can be promoted.
	Replicas int
	// Fsync: the server has it on disk, by WAITAOF. Takes AOF, and Redis 7.2 or Valkey.
	Fsync bool
	// Timeout bounds each of the two, 1 ms or more. Default 1 s; with Fsync 3 s, since a server with appendfsync
	// everysec may take two.
	Timeout time.Duration
}

func (d Durability) wanted() bool { return d.Replicas > 0 || d.Fsync }

// WithDefaults is d with its zeros filled in, as a client takes it. Errors: ErrInvalidOptions.
func (d Durability) WithDefaults() (Durability, error) {
	if d.Fsync {
		fill(&d.Timeout, defaultFsyncTimeout)
	}
	fill(&d.Timeout, defaultDurabilityTimeout)
	switch {
	case d.Replicas < 0:
		return d, fmt.Errorf("%w: Durability.Replicas is %d: must not be negative", ErrInvalidOptions, d.Replicas)
	case d.Timeout < time.Millisecond:
		return d, fmt.Errorf("%w: Durability.Timeout is %v: must be 1ms or more", ErrInvalidOptions, d.Timeout)
	}
	return d, nil
}

// Bound is how long an attempt may take with its confirmations, where it may take timeout without.
func (d Durability) Bound(timeout time.Duration) time.Duration {
	if d.Replicas > 0 {
		timeout += d.Timeout
	}
	if d.Fsync {
		timeout += d.Timeout
	}
	return timeout
}

// attemptTimeout is how long an attempt may take, with its confirmations.
func (o Options) attemptTimeout() time.Duration { return o.Durability.Bound(o.RefillTimeout) }

const (
	defaultNamespace     = "Raven"
	defaultMinCapacity   = 32
	defaultMaxCapacity   = 1 << 20
	defaultRunway        = 10 * time.Second
	defaultRefillTimeout = 2 * time.Second

	defaultDurabilityTimeout = time.Second
	defaultFsyncTimeout      = 3 * time.Second

	// largestRange bounds every range, so that a cursor has more room above it than all the processors of the world can
	// count through.
	largestRange = 1 << 40
)

// withDefaults checks o and fills its zeros.
func (o Options) withDefaults() (Options, error) {
	fill(&o.Namespace, defaultNamespace)
	fill(&o.Separator, prefix.DefaultSeparator)
	fill(&o.MinCapacity, defaultMinCapacity)
	fill(&o.MaxCapacity, defaultMaxCapacity)
	fill(&o.Limit, math.MaxInt64)
	fill(&o.Runway, defaultRunway)
	fill(&o.RefillTimeout, defaultRefillTimeout)
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	if err := prefix.ValidateNamespace(o.Namespace); err != nil {
		return o, fmt.Errorf("%w: Namespace: %w", ErrInvalidOptions, err)
	}
	if err := prefix.ValidateSeparator(o.Separator); err != nil {
		return o, fmt.Errorf("%w: Separator: %w", ErrInvalidOptions, err)
	}
	switch {
	case o.MaxCapacity < 1 || o.MaxCapacity > largestRange:
		return o, fmt.Errorf("%w: MaxCapacity is %d: must be 1 to %d", ErrInvalidOptions, o.MaxCapacity, int64(largestRange))
	case o.MinCapacity < 1 || o.MinCapacity > o.MaxCapacity:
		return o, fmt.Errorf("%w: MinCapacity is %d: must be 1 to MaxCapacity, %d", ErrInvalidOptions, o.MinCapacity, o.MaxCapacity)
	case o.Limit < 1:
		return o, fmt.Errorf("%w: Limit is %d: must be 1 or more", ErrInvalidOptions, o.Limit)
	case o.Runway < 0:
		return o, fmt.Errorf("%w: Runway is %v: must not be negative", ErrInvalidOptions, o.Runway)
	case o.RefillTimeout < 0:
		return o, fmt.Errorf("%w: RefillTimeout is %v: must not be negative", ErrInvalidOptions, o.RefillTimeout)
	case o.GuardGap < 0:
		return o, fmt.Errorf("%w: GuardGap is %d: must not be negative", ErrInvalidOptions, o.GuardGap)
	}
	var err error
	o.Durability, err = o.Durability.WithDefaults()
	return o, err
}

func fill[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
