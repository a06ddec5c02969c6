package ravendb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
)

// Options are the settings of a handler. Client is required. Each other zero means the default beside it.
type Options struct {
	// Client is the one master that serves, which needs a node tag. The handler does not close it.
	Client redis.UniversalClient
	// Masters compares that master with others that issue identifiers. Default nil: it is the only one. A gateway sets it.
	Masters Masters
	// Allocator has the settings of each database's Allocator. Namespace, capacities and Runway are the handler's own. Ranges end
	// at least 1,048,576 below math.MaxInt64, and below Limit.
	Allocator allocator.Options
	// Databases maps names of databases to namespaces. Names are compared without letter case. Default: none are mapped,
	// and the namespace of each database is its own name in lower case.
	Databases map[string]string
	// PublicURL is the URL at which clients reach this server, such as https://ids.example.org. Default: that of each request.
	PublicURL string
	// Nodes are other gateways of the same master, which the topology names after this one: clients use them when this
	// one is down. They imply IgnoreReturns. Default: this is the only gateway.
	Nodes []Node
	// IgnoreReturns discards ranges that are returned. It is for several gateways of one master, none of which has the
	// ranges of the others.
	IgnoreReturns bool
	// MaxNames is the greatest number of names that are served in each database, of collections and identities, each in any
	// spelling, and of databases. A request for a further one is refused with 429, because neither the handler nor Redis ever
	// forgets a name. Default 100,000.
	MaxNames int
}

// Masters compares the master that serves with the other ones.
type Masters interface {
	// VerifyRange returns an error if another master could issue an identifier of a namespace. first is of a range that was issued,
	// or zero before it is requested.
	VerifyRange(ctx context.Context, namespace string, first prefix.ID) error
	// VerifyHome returns an error unless the master is the home of the identities of a namespace, and the only one.
	VerifyHome(ctx context.Context, namespace string) error
}

// alone is the Masters of the only one.
type alone struct{}

func (alone) VerifyRange(context.Context, string, prefix.ID) error { return nil }
func (alone) VerifyHome(context.Context, string) error             { return nil }

// Node is another gateway.
type Node struct {
	// Tag names it in the topology, in the form of a node tag. It appears in no identifier.
	Tag string
	// URL is where clients reach it.
	URL string
}

// withDefaults checks o and fills its zeros.
func (o Options) withDefaults() (Options, error) {
	if o.Masters == nil {
		o.Masters = alone{}
	}
	o.MaxNames = cmp.Or(o.MaxNames, 100_000)
	o.IgnoreReturns = o.IgnoreReturns || len(o.Nodes) > 0
	ids := &o.Allocator
	ids.Separator = cmp.Or(ids.Separator, prefix.DefaultSeparator)
	ids.RefillTimeout = cmp.Or(ids.RefillTimeout, 2*time.Second)
	ids.Limit = min(cmp.Or(ids.Limit, math.MaxInt64), maxEnd)
	ids.MinCapacity, ids.MaxCapacity, ids.Runway = minCapacity, minCapacity, 1 // a range for each Take, and none ahead of it
	if _, err := o.open(prefix.DefaultNamespace); err != nil {                 // which checks the client and the settings
		return o, err
	}
	if o.MaxNames < 0 {
		return o, fmt.Errorf("%w: MaxNames is %d: must not be negative", allocator.ErrInvalidOptions, o.MaxNames)
	}
	if o.PublicURL != "" && !IsBase(o.PublicURL) {
		return o, fmt.Errorf("%w: PublicURL is %q: %s", allocator.ErrInvalidOptions, o.PublicURL, baseRule)
	}
	for _, n := range o.Nodes {
		if err := (prefix.Server{NodeTag: n.Tag}).Validate(); n.Tag == "" || err != nil || !IsBase(n.URL) {
			return o, fmt.Errorf("%w: Nodes: tag %q, URL %q: the tag must be 1 to 8 of A-Z a-z 0-9 and begin with a letter, the URL %s",
				allocator.ErrInvalidOptions, n.Tag, n.URL, baseRule)
		}
	}
	folded := make(map[string]string, len(o.Databases))
	for name, namespace := range o.Databases {
		if err := errors.Join(prefix.ValidateNamespace(name), prefix.ValidateNamespace(namespace)); err != nil {
			return o, fmt.Errorf("%w: Databases: %w", allocator.ErrInvalidOptions, err)
		}
		key := prefix.Fold(name)
		if folded[key] != "" {
			return o, fmt.Errorf("%w: Databases: %q is mapped twice: names are compared without letter case", allocator.ErrInvalidOptions, name)
		}
		folded[key] = namespace
	}
	o.Databases = folded
	return o, nil
}

const baseRule = "must be such as https://ids.example.org"

// IsBase reports whether a URL is absolute and clients can append their paths to it, as Options require.
func IsBase(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.RawQuery == "" && u.Fragment == "" && u.User == nil
}
