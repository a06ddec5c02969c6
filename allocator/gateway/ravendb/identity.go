package ravendb

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"maps"
	"net/http"
	"path"
	"slices"
	"strconv"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/gateway/internal/form"
	"github.com/hilo-id/hilo/allocator/gateway/internal/once"
	"github.com/hilo-id/hilo/allocator/gateway/internal/sentinel"
	"github.com/hilo-id/hilo/prefix"
)

// maxRequestID is the greatest length of the id of a request, in bytes.
const maxRequestID = 128

// identityRequest is a request about one identity.
type identityRequest struct {
	*form.Query
	*database
	name string
	id   once.ID // zero for a request without an id
}

func (h *Handler) readIdentity(r *http.Request) (i identityRequest, err error) {
	i.Query = form.Parse(r)
	i.name = i.Name("name", "|", h.opts.Allocator.Separator)
	switch sent := i.Get("raft-request-id"); {
	case len(sent) > maxRequestID:
		i.Fail(sentinel.Invalidf("raft-request-id is %d bytes long: at most %d", len(sent), maxRequestID))
	case sent != "":
		i.id = once.IDOf(path.Base(r.URL.Path), prefix.Fold(r.PathValue("database")), prefix.Fold(i.name), i.Get("value"), i.Get("force"), sent)
	}
	if i.Err != nil {
		return i, i.Err
	}
	if i.database, err = h.database(r.Context(), r.PathValue("database")); err == nil {
		_, err = i.use(i.name + "|")
	}
	return i, err
}

// once sends a request, unless it was answered in the last minute.
func (h *Handler) once(r *http.Request, i identityRequest, send func(context.Context) (int64, error)) (int64, error) {
	return h.answers.Do(i.id, func() (int64, error) {
		ctx, cancel := h.finish(r)
		defer cancel()
		if err := h.opts.Masters.VerifyHome(ctx, i.namespace); err != nil {
			return 0, err
		}
		return send(ctx)
	})
}

func (h *Handler) identityNext(r *http.Request) (any, error) {
	i, err := h.readIdentity(r)
	if err != nil {
		return nil, err
	}
	value, err := h.once(r, i, func(ctx context.Context) (int64, error) { return i.ids.NextIdentity(ctx, i.name) })
	return struct{ NewIdentityValue int64 }{value}, err
}

func (h *Handler) identitySeed(r *http.Request) (any, error) {
	q := form.Parse(r)
	value := q.Number("value")
	force, err := strconv.ParseBool(cmp.Or(q.Get("force"), "false"))
	if err != nil {
		q.Fail(sentinel.Invalidf("force is %.64q: must be true or false", q.Get("force")))
	}
	if q.Err != nil {
		return nil, q.Err
	}
	i, err := h.readIdentity(r)
	if err != nil {
		return nil, err
	}
	token := rand.Text()
	if i.id != (once.ID{}) { // a forced seed acts once, whichever gateway it is sent to
		token = hex.EncodeToString(i.id[:16])
	}
	value, err = h.once(r, i, func(ctx context.Context) (stands int64, err error) {
		err = h.ask(ctx, func(ctx context.Context) error {
			stands, err = i.operator.WithToken(token).SeedIdentity(ctx, i.name, value, force)
			return err
		})
		return stands, err
	})
	return struct{ NewSeedValue int64 }{value}, err
}

// listIdentities returns a page of all identities, in the order of their names.
func (h *Handler) listIdentities(r *http.Request) (any, error) {
	q := form.Parse(r)
	start, size := q.NumberOr("start", 0), q.NumberOr("pageSize", 1<<31-1)
	if q.Err != nil {
		return nil, q.Err
	}
	d, err := h.database(r.Context(), r.PathValue("database"))
	if err != nil {
		return nil, err
	}
	values := make(map[string]int64)
	err = h.ask(r.Context(), func(ctx context.Context) error {
		for counter, err := range d.operator.Identities(ctx) {
			if err == nil {
				values[prefix.Fold(counter.Name)+"|"] = counter.Max
			} else if !errors.Is(err, allocator.ErrCorrupt) {
				return err
			}
		}
		return nil
	})
	for i, name := range slices.Sorted(maps.Keys(values)) {
		if int64(i) < start || int64(i)-start >= size {
			delete(values, name)
		}
	}
	return values, err
}
