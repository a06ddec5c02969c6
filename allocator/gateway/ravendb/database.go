package ravendb

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

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
	maxNames  int

	mu    sync.Mutex             // guards what follows
	tag   string                 // as it was reported last
	names map[string]*collection // by folded name; those of identities end in "|", and are not used as collections
}

// open returns a database with the settings of o. It does no I/O.
func (o Options) open(namespace, tag string) (*database, error) {
	o.Allocator.Namespace = namespace
	ids, err := allocator.New(o.Client, o.Allocator)
	if err != nil {
		return nil, err
	}
	operator, err := admin.New(o.Client, admin.Options{Namespace: namespace, Separator: o.Allocator.Separator})
	return &database{namespace: namespace, ids: ids, operator: operator, tag: tag, maxNames: o.MaxNames, names: make(map[string]*collection)}, err
}

// database returns a database. Before its first use the server is asked for the node tag, so that nothing is written without one.
func (h *Handler) database(ctx context.Context, name string) (*database, error) {
	namespace, err := h.resolve(name)
	if err != nil {
		return nil, err
	}
	if d := h.used(namespace); d != nil {
		return d, nil
	}
	tag, err := h.tag(ctx, namespace)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch d := h.databases[namespace]; {
	case d != nil:
		return d, nil
	case h.closed:
		return nil, fmt.Errorf("%w: the gateway ends", allocator.ErrClosed)
	case len(h.databases) >= h.opts.MaxNames:
		return nil, tooMany("databases", h.opts.MaxNames)
	}
	d, err := h.opts.open(namespace, tag)
	if err == nil {
		h.databases[namespace] = d
	}
	return d, err
}

// used returns a database that had a tag, or nil.
func (h *Handler) used(namespace string) *database {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.databases[namespace]
}

// tag asks the server for its node tag in a namespace.
func (h *Handler) tag(ctx context.Context, namespace string) (tag string, err error) {
	operator, err := admin.New(h.opts.Client, admin.Options{Namespace: namespace})
	if err != nil {
		return "", err
	}
	err = h.ask(ctx, func(ctx context.Context) error {
		settings, err := operator.ServerPrefix(ctx)
		tag = settings.NodeTag
		return err
	})
	if err == nil && tag == "" {
		err = noTag(namespace)
	}
	return tag, err
}

// ask sends a request that no Allocator sends.
func (h *Handler) ask(ctx context.Context, send func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, h.timeout())
	defer cancel()
	return h.gate.Pass(ctx, sentinel.Temporary, func() error { return send(ctx) })
}

// finish returns the context of a request that is finished also if its client is gone.
func (h *Handler) finish(r *http.Request) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(r.Context()), h.timeout())
}

// timeout bounds a request. A range of a durable server waits 1.5 s for its ceiling, and for ever while that cannot be raised.
func (h *Handler) timeout() time.Duration { return 2 * h.opts.Allocator.RefillTimeout }

// use returns the collection of a name, the same one for all spellings, and adds it within the bound: neither an Allocator nor
// Redis forgets a name.
func (d *database) use(name string) (*collection, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := prefix.Fold(name)
	if d.names[key] == nil {
		if len(d.names) >= d.maxNames {
			return nil, tooMany("names of this database", d.maxNames)
		}
		c, _ := d.ids.Collection(name) // an error is that the name is an identity's
		d.names[key] = &collection{Collection: c}
	}
	return d.names[key], nil
}
