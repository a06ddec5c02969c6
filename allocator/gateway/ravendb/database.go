package ravendb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/allocator/gateway/internal/sentinel"
	"github.com/hilo-id/hilo/prefix"
)

// database is a database that clients used, and the Allocator of its namespace.
type database struct {
	namespace string
	ids       *allocator.Allocator
	operator  *admin.Admin
	masters   *masters // nil if there is only one
	// seeding is held by a forced seed, and shared by requests for identities: a seed fails if a value is issued between its steps.
	seeding sync.RWMutex
	tag     atomic.Value // of type string, as it was reported last, for the topology

	mu    sync.Mutex             // guards what follows
	names map[string]*collection // by folded name; those of identities end in "|", and are nil
}

// open returns a database with the settings of o. It does no I/O.
func (o Options) open(namespace, tag string) (*database, error) {
	opts := o.Allocator
	opts.Namespace = namespace
	operator, err := admin.New(o.Client, admin.Options{Namespace: namespace, Separator: opts.Separator})
	if err != nil {
		return nil, err
	}
	ids, err := allocator.New(o.Client, opts)
	if err != nil {
		return nil, err
	}
	d := &database{namespace: namespace, ids: ids, operator: operator, names: make(map[string]*collection)}
	d.tag.Store(tag)
	if len(o.Others) == 0 {
		return d, nil
	}
	servers := []allocator.Server{{Name: o.Name, Client: o.Client}}
	for _, other := range o.Others {
		servers = append(servers, allocator.Server{Name: other.Name, Client: other.Client, Namespace: cmp.Or(other.Namespaces[namespace], namespace)})
	}
	all, err := allocator.NewMulti(servers, opts)
	d.masters = &masters{all: all}
	return d, err
}

func (d *database) close(ctx context.Context) error {
	err := d.ids.Close(ctx)
	if d.masters != nil {
		err = errors.Join(err, d.masters.all.Close(ctx))
	}
	return err
}

// database returns a database. Before its first use the server is asked for the node tag, so that nothing is written without one.
func (h *Handler) database(ctx context.Context, name string) (*database, error) {
	namespace, err := h.resolve(name)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	d, ok := h.databases[namespace]
	h.mu.Unlock()
	if ok {
		return d, nil
	}
	tag, err := h.describe(ctx, namespace)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if d, ok := h.databases[namespace]; ok {
		return d, nil
	}
	switch {
	case h.closed:
		return nil, fmt.Errorf("%w: the gateway ends", allocator.ErrClosed)
	case len(h.databases) >= h.opts.MaxNames:
		return nil, tooMany("databases", h.opts.MaxNames)
	}
	if d, err = h.opts.open(namespace, tag); err == nil {
		h.databases[namespace] = d
	}
	return d, err
}

// describe asks the server for its node tag in a namespace.
func (h *Handler) describe(ctx context.Context, namespace string) (tag string, err error) {
	operator, err := admin.New(h.opts.Client, admin.Options{Namespace: namespace})
	if err != nil {
		return "", err
	}
	var settings prefix.Server
	if err := h.ask(ctx, func(ctx context.Context) (err error) {
		settings, err = operator.ServerPrefix(ctx)
		return err
	}); err != nil {
		return "", err
	}
	if settings.NodeTag == "" {
		return "", noTag(namespace)
	}
	return settings.NodeTag, nil
}

// ask sends a request that no Allocator sends.
func (h *Handler) ask(ctx context.Context, send func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, 2*h.opts.Allocator.RefillTimeout)
	defer cancel()
	return h.gate.Pass(ctx, sentinel.Temporary, func() error { return send(ctx) })
}

// collection returns the collection of a name, the same one for all spellings.
func (h *Handler) collection(d *database, name string) (*collection, error) {
	return h.use(d, prefix.Fold(name), func() (*collection, error) {
		c, err := d.ids.Collection(name)
		return &collection{Collection: c}, err
	})
}

// use returns what a database has for a name or, if it has nothing, adds it. Neither an Allocator nor Redis forgets a name.
func (h *Handler) use(d *database, key string, add func() (*collection, error)) (*collection, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c, ok := d.names[key]; ok {
		return c, nil
	}
	if len(d.names) >= h.opts.MaxNames {
		return nil, tooMany("names of this database", h.opts.MaxNames)
	}
	c, err := add()
	if err == nil {
		d.names[key] = c
	}
	return c, err
}
