package ravendb

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// Options are the settings of a handler. Client is required; each other zero
// means the default beside it.
type Options struct {
	// Client is the one master that serves, which needs a node tag. It is not
	// closed by the handler.
	Client redis.UniversalClient
	// Databases maps names of databases to namespaces. Names are compared
	// without letter case. Default: none are mapped, and the namespace of each
	// database is its own name in lower case.
	Databases map[string]string
	// PublicURL is where clients find this server, such as
	// https://ids.example.org. Default: what each request came to.
	PublicURL string
	// IgnoreReturns has no range taken back. It is for several gateways behind
	// one balancer, which do not know what the others gave.
	IgnoreReturns bool
	// Separator stands between collection and number. Default "/".
	Separator string
	// Limit is the greatest number ever issued. Default math.MaxInt64.
	Limit int64
	// GuardGap is how far a counter jumps on evidence of lost writes. Default 0:
	// computed from what was issued lately.
	GuardGap int64
	// RequireSeeded makes a missing counter an error instead of a start at 1.
	RequireSeeded bool
	// Durability is what a range or a value needs before it is given, and a seed
	// before it is answered. Default: nothing.
	Durability allocator.Durability
	// Timeout bounds one attempt against the server, without what Durability
	// adds. Default 2 s.
	Timeout time.Duration
	// Logger gets a warning for each jump. Default nil: silent.
	Logger *zap.Logger
	// Clash reports why no identifier is to be made with what the server adds in
	// a namespace, such as that another master adds the same. It is asked when
	// that changes. Default nil: there is no other. A gateway sets it.
	Clash func(namespace string, adds prefix.Server) error
}

const defaultTimeout = 2 * time.Second

// withDefaults checks o and fills its zeros.
func (o Options) withDefaults() (Options, error) {
	if o.Separator == "" {
		o.Separator = prefix.DefaultSeparator
	}
	if o.Limit == 0 {
		o.Limit = math.MaxInt64
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	if o.Clash == nil {
		o.Clash = func(string, prefix.Server) error { return nil }
	}
	if err := prefix.ValidateSeparator(o.Separator); err != nil {
		return o, fmt.Errorf("%w: Separator: %w", allocator.ErrInvalidOptions, err)
	}
	if _, ring := o.Client.(*redis.Ring); o.Client == nil || ring {
		return o, fmt.Errorf("%w: Client is nil or a ring: one master is wanted", allocator.ErrInvalidOptions)
	}
	switch {
	case o.Limit < 1:
		return o, fmt.Errorf("%w: Limit is %d: must be 1 or more", allocator.ErrInvalidOptions, o.Limit)
	case o.GuardGap < 0:
		return o, fmt.Errorf("%w: GuardGap is %d: must not be negative", allocator.ErrInvalidOptions, o.GuardGap)
	case o.Timeout < 0:
		return o, fmt.Errorf("%w: Timeout is %v: must not be negative", allocator.ErrInvalidOptions, o.Timeout)
	}
	var err error
	if o.Durability, err = o.Durability.WithDefaults(); err != nil {
		return o, err
	}
	if (o.Durability.Replicas > 0 || o.Durability.Fsync) && !scripts.Confirmable(o.Client) {
		return o, fmt.Errorf("%w: Durability takes a *redis.Client or a *redis.ClusterClient itself, and Client is a %T", allocator.ErrInvalidOptions, o.Client)
	}
	if err := o.validateURL(); err != nil {
		return o, err
	}
	return o.withFoldedDatabases()
}

func (o Options) validateURL() error {
	if o.PublicURL == "" {
		return nil
	}
	u, err := url.Parse(o.PublicURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return fmt.Errorf("%w: PublicURL is %q: must be such as https://ids.example.org", allocator.ErrInvalidOptions, o.PublicURL)
	}
	return nil
}

// withFoldedDatabases is o with Databases by folded name.
func (o Options) withFoldedDatabases() (Options, error) {
	if len(o.Databases) == 0 {
		return o, nil
	}
	folded := make(map[string]string, len(o.Databases))
	for name, namespace := range o.Databases {
		if err := errors.Join(prefix.ValidateNamespace(name), prefix.ValidateNamespace(namespace)); err != nil {
			return o, fmt.Errorf("%w: Databases: %w", allocator.ErrInvalidOptions, err)
		}
		key := prefix.Fold(name)
		if _, twice := folded[key]; twice {
			return o, fmt.Errorf("%w: Databases: %q is there twice: letter case does not tell two apart", allocator.ErrInvalidOptions, name)
		}
		folded[key] = namespace
	}
	o.Databases = folded
	return o, nil
}

// timeout is how long an attempt may take, with its confirmations.
func (o Options) timeout() time.Duration { return o.Durability.Bound(o.Timeout) }

// Check asks the server whether the namespaces of all mapped databases have a
// node tag, without which clients' identifiers would end in "-". It writes
// nothing, and tells of the first that has none. New does no I/O, so whoever
// wants to know at once calls this. Errors: ErrNoTag, allocator.ErrUnavailable,
// allocator.ErrInvalidOptions.
func Check(ctx context.Context, opts Options) error {
	opts, err := opts.withDefaults()
	if err != nil {
		return fmt.Errorf("ravendb: %w", err)
	}
	for _, namespace := range slices.Sorted(maps.Values(opts.Databases)) {
		ctx, cancel := context.WithTimeout(ctx, opts.timeout())
		said, err := scripts.Describe(ctx, opts.Client, prefix.NewKeys(namespace).Server())
		cancel()
		switch {
		case err != nil && scripts.Answered(err):
			return fmt.Errorf("ravendb: %w", err)
		case err != nil:
			return fmt.Errorf("ravendb: %w: %w", allocator.ErrUnavailable, err)
		case said.Tag == "":
			return fmt.Errorf("ravendb: %w", noTag(namespace))
		}
	}
	return nil
}

// ErrNoTag is a namespace without a node tag, which RavenDB's clients need.
var ErrNoTag = errors.New("the server has no node tag, and RavenDB's clients make their ids with one")

func noTag(namespace string) error {
	return fmt.Errorf("%w: set one with hilo prefix set --tag A --namespace %s", ErrNoTag, namespace)
}
