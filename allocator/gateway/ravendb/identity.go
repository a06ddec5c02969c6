package ravendb

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/gateway/internal/sentinel"
	"github.com/hilo-id/hilo/prefix"
)

// maxRequestID is the greatest length of the id of a request, in bytes.
const maxRequestID = 128

// identityRequest is a request about one identity.
type identityRequest struct {
	*query
	*database
	name, sent string // sent is the id of the request, or ""
}

// readIdentity reads a request about an identity. more reads further parameters.
func (h *Handler) readIdentity(r *http.Request, more func(*query)) (i identityRequest, err error) {
	q := parseQuery(r)
	i = identityRequest{query: q, name: q.name("name", "|", h.opts.Allocator.Separator), sent: q.values["raft-request-id"]}
	if len(i.sent) > maxRequestID {
		q.fail(sentinel.Invalidf("raft-request-id is %d bytes long: at most %d", len(i.sent), maxRequestID))
	}
	if more(q); q.err != nil {
		return i, q.err
	}
	if i.database, err = h.database(r.Context(), r.PathValue("database")); err == nil {
		_, err = i.use(i.name + "|")
	}
	return i, err
}

// id returns the digest of the id of a request to do what.
func (i identityRequest) id(what ...string) (id requestID) {
	if i.sent != "" {
		id = sha256.Sum256([]byte(strings.Join(append(what, i.namespace, prefix.Fold(i.name), i.sent), "\x00")))
	}
	return id
}

// once sends a request about an identity, unless its answer is remembered. It is finished also if the client is gone.
func (h *Handler) once(r *http.Request, i identityRequest, id requestID, send func(context.Context) (int64, error)) (int64, error) {
	ctx := context.WithoutCancel(r.Context())
	return h.answers.do(id, func() (int64, error) {
		if err := h.opts.verifyHome(ctx, i.namespace); err != nil {
			return 0, err
		}
		return send(ctx)
	})
}

func (h *Handler) identityNext(r *http.Request) (any, error) {
	i, err := h.readIdentity(r, func(*query) {})
	if err != nil {
		return nil, err
	}
	value, err := h.once(r, i, i.id("next"), func(ctx context.Context) (int64, error) { return i.ids.NextIdentity(ctx, i.name) })
	return struct{ NewIdentityValue int64 }{value}, err
}

func (h *Handler) identitySeed(r *http.Request) (any, error) {
	var value int64
	var force bool
	i, err := h.readIdentity(r, func(q *query) {
		var err error
		if value = q.number("value"); q.values["force"] != "" {
			force, err = strconv.ParseBool(q.values["force"])
		}
		if err != nil {
			q.fail(sentinel.Invalidf("force is %.64q: must be true or false", q.values["force"]))
		}
	})
	if err != nil {
		return nil, err
	}
	id, token := i.id("seed", strconv.FormatInt(value, 10), strconv.FormatBool(force)), rand.Text()
	if i.sent != "" { // a forced seed acts once, whichever gateway it is sent to
		token = hex.EncodeToString(id[:16])
	}
	value, err = h.once(r, i, id, func(ctx context.Context) (stands int64, err error) {
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
	q := parseQuery(r)
	start, size := q.numberOr("start", 0), q.numberOr("pageSize", 1<<31-1)
	if q.err != nil {
		return nil, q.err
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
