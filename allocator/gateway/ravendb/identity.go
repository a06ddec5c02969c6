package ravendb

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"slices"
	"strconv"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/allocator/gateway/internal/form"
	"github.com/hilo-id/hilo/allocator/gateway/internal/gate"
	"github.com/hilo-id/hilo/allocator/gateway/internal/once"
	"github.com/hilo-id/hilo/allocator/gateway/internal/sentinel"
	"github.com/hilo-id/hilo/prefix"
)

// onIdentity calls act for the identity that a request names, unless the request has an id and was answered in the last minute.
// id is zero for a request without one.
func (h *Handler) onIdentity(ctx context.Context, q *form.Query, act func(d *database, name string, id once.ID) (int64, error)) (int64, error) {
	name, sent := q.Name("name", "|", h.opts.Allocator.Separator), q.Get("raft-request-id")
	d, err := h.database(ctx, q, q.Request.PathValue("database"))
	if err != nil {
		return 0, err
	}
	if _, err := d.names.Admit(prefix.Fold(name)+"|", name); err != nil {
		return 0, err
	}
	var id once.ID
	if sent != "" {
		id = once.IDOf(q.Request.Pattern, d.namespace, prefix.Fold(name), q.Get("value"), q.Get("force"), sent)
	}
	return h.answers.Do(id, func() (int64, error) {
		if err := h.opts.Masters.VerifyHome(ctx, d.namespace); err != nil {
			return 0, err
		}
		return act(d, name, id)
	})
}

func (h *Handler) identityNext(ctx context.Context, q *form.Query) (any, error) {
	value, err := h.onIdentity(ctx, q, func(d *database, name string, _ once.ID) (int64, error) {
		return d.ids.NextIdentity(ctx, name)
	})
	return struct{ NewIdentityValue int64 }{value}, err
}

func (h *Handler) identitySeed(ctx context.Context, q *form.Query) (any, error) {
	q.Only("name", "value", "force", "raft-request-id") // Python does not escape an &, and would lower another identity
	value := q.Number("value")
	force, err := strconv.ParseBool(cmp.Or(q.Get("force"), "false"))
	if err != nil {
		q.Fail(sentinel.Invalidf("force is %.64q: must be true or false", q.Get("force")))
	}
	value, err = h.onIdentity(ctx, q, func(d *database, name string, id once.ID) (int64, error) {
		operator := d.operator.With(admin.Mode{RequestID: cmp.Or(id.String(), rand.Text())}) // a forced seed acts once, whichever gateway it is sent to
		return gate.Pass(ctx, h.gate, func() (int64, error) { return operator.SeedIdentity(ctx, name, value, force) })
	})
	return struct{ NewSeedValue int64 }{value}, err
}

// listIdentities returns a page of all identities, in the order of their names.
func (h *Handler) listIdentities(ctx context.Context, q *form.Query) (any, error) {
	start, size := q.NumberOr("start", 0), q.NumberOr("pageSize", 1<<31-1)
	d, err := h.database(ctx, q, q.Request.PathValue("database"))
	if err != nil {
		return nil, err
	}
	values, err := gate.Pass(ctx, h.gate, func() (map[string]int64, error) {
		values := make(map[string]int64)
		for counter, err := range d.operator.Identities(ctx) {
			if err == nil {
				values[prefix.Fold(counter.Name)+"|"] = counter.Max
			} else if !errors.Is(err, allocator.ErrCorrupt) {
				return nil, err
			}
		}
		return values, nil
	})
	for i, name := range slices.Sorted(maps.Keys(values)) {
		if int64(i) < start || int64(i)-start >= size {
			delete(values, name)
		}
	}
	return values, err
}
