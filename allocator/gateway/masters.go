package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/gateway/ravendb"
	"github.com/hilo-id/hilo/prefix"
)

// homeInterval is the greatest age of a comparison of homes: what the master that serves issues does not show another one.
const homeInterval = 10 * time.Second

// masters compares the master that serves RavenDB's clients with the others, in each namespace. It is safe for concurrent use.
type masters struct {
	all  []Master // the one that serves first
	opts allocator.Options

	mu          sync.Mutex // guards what follows
	byNamespace map[string]*comparison
}

// comparison is the masters of one namespace.
type comparison struct {
	all *allocator.Allocator // nothing is taken from it

	mu   sync.Mutex    // guards what follows, and is held during a comparison, so that callers wait for the same one
	own  prefix.Server // of the master that serves, with which no conflict was found
	at   time.Time     // of the latest comparison of homes, zero before the first one
	home error         // what it found
}

// withMasters returns the settings of RavenDB's half, by default with the client of the first master, and with a comparison with the
// others, which is nil if there are none.
func withMasters(o ravendb.Options, all []Master) (ravendb.Options, *masters, error) {
	if len(all) == 0 || o.Masters != nil {
		return o, nil, nil
	}
	if o.Client == nil {
		o.Client = all[0].Client
	}
	own := slices.IndexFunc(all, func(m Master) bool { return m.Client == o.Client })
	if own < 0 {
		return o, nil, fmt.Errorf("%w: RavenDB: Client must be nil or the client of one of Masters, which are compared with it", allocator.ErrInvalidOptions)
	}
	if len(all) == 1 {
		return o, nil, nil
	}
	m := newMasters(o.Allocator, slices.Concat(all[own:own+1], all[:own], all[own+1:])...)
	o.Masters = m
	return o, m, nil
}

func newMasters(opts allocator.Options, all ...Master) *masters {
	return &masters{all: all, opts: opts, byNamespace: make(map[string]*comparison)}
}

// in returns the comparison in a namespace of the master that serves. Another master may have another one in place of it.
func (m *masters) in(namespace string) (*comparison, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c, ok := m.byNamespace[namespace]; ok {
		return c, nil
	}
	var servers []allocator.Server
	for _, other := range m.all {
		s := allocator.Server{Name: other.Name, Client: other.Client, Namespace: namespace}
		if namespace == m.all[0].namespace() {
			s.Namespace = other.namespace()
		}
		servers = append(servers, s)
	}
	all, err := allocator.NewMulti(servers, m.opts)
	if err != nil {
		return nil, err
	}
	m.byNamespace[namespace] = &comparison{all: all}
	return m.byNamespace[namespace], nil
}

// Close ends the comparisons.
func (m *masters) Close(ctx context.Context) (err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.byNamespace {
		err = errors.Join(err, c.all.Close(ctx))
	}
	return err
}

// compare returns the settings of all masters, and a conflict between any two of them.
func (c *comparison) compare(ctx context.Context) ([]allocator.ServerStats, error) {
	err := c.all.Check(ctx)
	return c.all.Stats().Servers, err
}

// VerifyRange returns a conflict of the masters. They are compared before the first range, and when the prefix or tag of a range
// changed. Of two masters that change to the same ones, at least one is compared after both have changed.
func (m *masters) VerifyRange(ctx context.Context, namespace string, first prefix.ID) error {
	c, err := m.in(namespace)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	verified := func() bool {
		return !c.own.IsZero() && (first == prefix.ID{} || c.own.ServerPrefix == first.ServerPrefix && c.own.NodeTag == first.NodeTag)
	}
	if verified() {
		return nil
	}
	c.own = prefix.Server{}
	servers, err := c.compare(ctx)
	if err != nil {
		return err
	}
	if c.own = servers[0].Settings; first != (prefix.ID{}) && !verified() {
		return fmt.Errorf("%w: the server no longer reports the prefix of a range, which is discarded", allocator.ErrUnavailable)
	}
	return nil
}

// VerifyHome returns an error if the master that serves is not the home of identities, or not the only one. After the first
// comparison a conflict of prefixes is left to ranges.
func (m *masters) VerifyHome(ctx context.Context, namespace string) error {
	c, err := m.in(namespace)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.home == nil && !c.at.IsZero() && time.Since(c.at) < homeInterval {
		return nil
	}
	servers, err := c.compare(ctx)
	if err != nil && c.at.IsZero() {
		return err
	}
	c.at, c.home = time.Now(), nil
	if !servers[0].Settings.Identities {
		c.home = fmt.Errorf("%w: RavenDB's clients are served by %s, which is not their home", allocator.ErrIdentitiesElsewhere, servers[0].Name)
	}
	for i := range servers[1:] {
		other := &servers[1+i]
		if c.home == nil && other.Settings.Identities {
			c.home = fmt.Errorf("%w: %s and %s both report that they are the home of identities", allocator.ErrPrefixConflict, servers[0].Name, other.Name)
		}
	}
	return c.home
}
