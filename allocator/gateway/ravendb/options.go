package ravendb

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/url"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/internal/fleet"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// Options are the settings of a handler. Client is required. Each other zero means the default beside it.
type Options struct {
	// Client is the one master that serves, which needs a node tag. The handler does not close it.
	Client redis.UniversalClient
	// Name is the name of that master, for errors and logs. It is required if there are Others. A gateway sets it.
	Name string
	// Others are the other masters that issue identifiers. They do not serve. Before the first identifier of a namespace
	// and at each change of a prefix all masters are compared, and again about every 10 s while there are requests: no two
	// may have the same prefix and tag, or be homes of identities. Default: Client is the only master. A gateway sets it.
	Others []Master
	// Databases maps names of databases to namespaces. Names are compared without letter case. Default: none are mapped,
	// and the namespace of each database is its own name in lower case.
	Databases map[string]string
	// PublicURL is the URL at which clients reach this server, such as https://ids.example.org. Default: the URL of
	// each request.
	PublicURL string
	// Nodes are other gateways of the same master, which the topology names after this one: clients use them when this
	// one is down. They imply IgnoreReturns. Default: this is the only gateway.
	Nodes []Node
	// IgnoreReturns discards ranges that are returned. It is for several gateways of one master, none of which has the
	// ranges of the others.
	IgnoreReturns bool
	// Separator stands between collection and number. Default "/".
	Separator string
	// Limit is the greatest number ever issued. Default math.MaxInt64. Ranges end at least 1,048,576 below math.MaxInt64.
	Limit int64
	// MaxNames is the greatest number of names that are served, of collections and identities in all databases, each in any
	// spelling. A request for a further one is refused with 429, because neither the handler nor Redis ever forgets a name.
	// At most 10,000 databases are served. Default 100,000.
	MaxNames int
	// RequireSeeded makes a missing counter an error instead of a start at 1.
	RequireSeeded bool
	// Durability is required of ranges, identities and seeds before they are sent to a client. Default: nothing.
	Durability allocator.Durability
	// Timeout bounds one attempt against a server, without the time for Durability. Default 2 s.
	Timeout time.Duration
	// Logger gets a warning for each jump. Default nil: silent.
	Logger *zap.Logger
}

// Master is a master that does not serve RavenDB's clients.
type Master struct {
	Name   string
	Client redis.UniversalClient // not closed by the handler
	// Namespaces maps namespaces of the master that serves to those of this one, where they differ.
	Namespaces map[string]string
}

// Node is another gateway.
type Node struct {
	// Tag names it in the topology, in the form of a node tag. It appears in no identifier.
	Tag string
	// URL is where clients reach it.
	URL string
}

// withDefaults checks o and fills its zeros.
func (o Options) withDefaults() (Options, error) {
	o.Separator = cmp.Or(o.Separator, prefix.DefaultSeparator)
	o.Limit = cmp.Or(o.Limit, math.MaxInt64)
	o.Timeout = cmp.Or(o.Timeout, 2*time.Second)
	o.MaxNames = cmp.Or(o.MaxNames, 100_000)
	o.Logger = cmp.Or(o.Logger, zap.NewNop())
	if err := prefix.ValidateSeparator(o.Separator); err != nil {
		return o, fmt.Errorf("%w: Separator: %w", allocator.ErrInvalidOptions, err)
	}
	if err := scripts.CheckClient(o.Client); err != nil {
		return o, fmt.Errorf("option Client: %w: %w", allocator.ErrInvalidOptions, err)
	}
	if err := fleet.CheckConfirmable(o.Client, scripts.Durability(o.Durability)); err != nil {
		return o, fmt.Errorf("option Client: %w", err)
	}
	if err := o.validateOthers(); err != nil {
		return o, err
	}
	switch {
	case o.Limit < 1:
		return o, fmt.Errorf("%w: Limit is %d: must be 1 or more", allocator.ErrInvalidOptions, o.Limit)
	case o.MaxNames < 0:
		return o, fmt.Errorf("%w: MaxNames is %d: must not be negative", allocator.ErrInvalidOptions, o.MaxNames)
	case o.Timeout < 0:
		return o, fmt.Errorf("%w: Timeout is %v: must not be negative", allocator.ErrInvalidOptions, o.Timeout)
	}
	durability, err := fleet.WithDefaults(scripts.Durability(o.Durability))
	if err != nil {
		return o, err
	}
	o.Durability = allocator.Durability(durability)
	if err := o.validateURLs(); err != nil {
		return o, err
	}
	o.IgnoreReturns = o.IgnoreReturns || len(o.Nodes) > 0
	return o.withFoldedDatabases()
}

// validateOthers checks that each of several masters has a client and a name of its own.
func (o Options) validateOthers() error {
	names := map[string]bool{o.Name: true}
	for _, other := range o.Others {
		if err := scripts.CheckClient(other.Client); err != nil {
			return fmt.Errorf("option Others: %w: %w", allocator.ErrInvalidOptions, err)
		}
		if names[other.Name] || other.Name == "" || o.Name == "" {
			return fmt.Errorf("%w: Others: the name %q is empty or used twice: each of several masters needs its own", allocator.ErrInvalidOptions, other.Name)
		}
		names[other.Name] = true
		for _, namespace := range other.Namespaces {
			if err := prefix.ValidateNamespace(namespace); err != nil {
				return fmt.Errorf("%w: Others: %s: %w", allocator.ErrInvalidOptions, other.Name, err)
			}
		}
	}
	return nil
}

// validateURLs checks PublicURL and Nodes.
func (o Options) validateURLs() error {
	if o.PublicURL != "" && !IsBase(o.PublicURL) {
		return fmt.Errorf("%w: PublicURL is %q: %s", allocator.ErrInvalidOptions, o.PublicURL, baseRule)
	}
	seen := make(map[string]bool)
	for _, n := range o.Nodes {
		switch err := (prefix.Server{NodeTag: n.Tag}).Validate(); {
		case n.Tag == "" || err != nil:
			return fmt.Errorf("%w: Nodes: the tag is %q: must be 1 to 8 of A-Z a-z 0-9 and begin with a letter", allocator.ErrInvalidOptions, n.Tag)
		case !IsBase(n.URL):
			return fmt.Errorf("%w: Nodes: the URL of %s is %q: %s", allocator.ErrInvalidOptions, n.Tag, n.URL, baseRule)
		case seen[n.URL]:
			return fmt.Errorf("%w: Nodes: %s is named twice", allocator.ErrInvalidOptions, n.URL)
		}
		seen[n.URL] = true
	}
	return nil
}

const baseRule = "must be such as https://ids.example.org"

// IsBase reports whether a URL is absolute and clients can append their paths to it, as Options require.
func IsBase(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.RawQuery == "" && u.Fragment == "" && u.User == nil
}

// withFoldedDatabases returns o with Databases by folded name.
func (o Options) withFoldedDatabases() (Options, error) {
	folded := make(map[string]string, len(o.Databases))
	for name, namespace := range o.Databases {
		if err := errors.Join(prefix.ValidateNamespace(name), prefix.ValidateNamespace(namespace)); err != nil {
			return o, fmt.Errorf("%w: Databases: %w", allocator.ErrInvalidOptions, err)
		}
		key := prefix.Fold(name)
		if _, twice := folded[key]; twice {
			return o, fmt.Errorf("%w: Databases: %q is mapped twice: names are compared without letter case", allocator.ErrInvalidOptions, name)
		}
		folded[key] = namespace
	}
	o.Databases = folded
	return o, nil
}

// timeout returns the bound of one attempt with its confirmations.
func (o Options) timeout() time.Duration {
	return fleet.AttemptTimeout(scripts.Durability(o.Durability), o.Timeout)
}

// ErrNoTag is a namespace without a node tag. It matches allocator.ErrPrefixMissing.
var ErrNoTag = fmt.Errorf("%w: the server has no node tag, which the ids of RavenDB's clients end in", scripts.ErrPrefixMissing)

func noTag(namespace string) error {
	return fmt.Errorf("%w; set one with hilo prefix set --tag A --namespace %s", ErrNoTag, namespace)
}
