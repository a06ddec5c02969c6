package ravendb

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/allocator/gateway/internal/form"
	"github.com/hilo-id/hilo/allocator/gateway/internal/gate"
	"github.com/hilo-id/hilo/allocator/gateway/internal/names"
	"github.com/hilo-id/hilo/allocator/gateway/internal/sentinel"
	"github.com/hilo-id/hilo/prefix"
)

// database is the Allocator of a namespace, and the names that clients used there.
type database struct {
	namespace string
	ids       *allocator.Allocator
	operator  *admin.Admin
	tag       atomic.Pointer[string] // as it was reported last
	names     *names.Map[string]     // by folded name, as they were spelled first; those of identities end in "|"
}

// open returns a database with the settings of o. It does no I/O.
func (o Options) open(namespace string) (*database, error) {
	o.Allocator.Namespace = namespace
	ids, err := allocator.New(o.Client, o.Allocator)
	if err != nil {
		return nil, err
	}
	operator, err := admin.New(o.Client, admin.Options{Namespace: namespace, Separator: o.Allocator.Separator})
	return &database{namespace: namespace, ids: ids, operator: operator, names: names.New[string]("names of this database", o.MaxNames)}, err
}

// database returns a database for a request with valid parameters. Before its first use the server is asked for the node tag, so
// that nothing is written without one.
func (h *Handler) database(ctx context.Context, q *form.Query, name string) (*database, error) {
	namespace, err := h.resolve(name)
	if q.Fail(err); q.Err != nil {
		return nil, q.Err
	}
	if d, ok := h.databases.Get(namespace); ok {
		return d, nil
	}
	d, err := h.opts.open(namespace)
	if err == nil {
		err = h.check(ctx, d)
	}
	if err != nil {
		return nil, err
	}
	return h.databases.Admit(namespace, d)
}

// resolve returns the namespace of a database.
func (h *Handler) resolve(database string) (namespace string, err error) {
	namespace = prefix.Fold(database)
	if err = prefix.ValidateNamespace(namespace); err != nil {
		return "", fmt.Errorf("database: %w", err)
	}
	if mapped, ok := h.opts.Databases[namespace]; ok || len(h.opts.Databases) == 0 {
		return cmp.Or(mapped, namespace), nil
	}
	return "", &sentinel.RefusalError{
		Status: http.StatusServiceUnavailable, Header: "Database-Missing", Value: database, Text: fmt.Sprintf("unknown database %.64q", database),
	}
}

// ErrNoTag is a namespace without a node tag. It matches allocator.ErrPrefixMissing.
var ErrNoTag = fmt.Errorf("%w: the server has no node tag, which the ids of RavenDB's clients end in", allocator.ErrPrefixMissing)

// check asks the server for the node tag of a database.
func (h *Handler) check(ctx context.Context, d *database) error {
	settings, err := gate.Pass(ctx, h.gate, func() (prefix.Server, error) { return d.operator.ServerPrefix(ctx) })
	return cmp.Or(err, d.recordTag(settings.NodeTag))
}

// recordTag returns ErrNoTag for an empty tag.
func (d *database) recordTag(tag string) error {
	if tag == "" {
		return fmt.Errorf("%w; set one with hilo settings set --tag A --namespace %s, or by hilo init if the server is new", ErrNoTag, d.namespace)
	}
	d.tag.Store(&tag)
	return nil
}
