package ravendb

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// longestRequestID is that of the id which a client may give a request.
const longestRequestID = 128

// identityRequest is a request about one identity.
type identityRequest struct {
	query
	db   *database
	c    *counter
	name string
	id   string // of the request, with all that it is about; "": none
}

func (h *Handler) readIdentity(r *http.Request, verb string) (i identityRequest, err error) {
	if i.query, err = parseQuery(r.URL.RawQuery); err != nil {
		return i, err
	}
	if i.name, err = i.required("name"); err != nil {
		return i, err
	}
	i.name = strings.TrimSuffix(i.name, "|")
	if err := prefix.ValidateCollection(i.name, h.opts.Separator); err != nil {
		return i, argument("name: %w", err)
	}
	if i.id = i.query["raft-request-id"]; len(i.id) > longestRequestID {
		return i, argument("raft-request-id is %d bytes long: at most %d", len(i.id), longestRequestID)
	}
	if i.db, err = h.database(r.Context(), r.PathValue("database")); err != nil {
		return i, err
	}
	keys := scripts.Keys{Counter: i.db.keys.Identity(i.name), Server: i.db.keys.Server(), Other: i.db.keys.HiLo(i.name)}
	if i.id != "" {
		i.id = strings.Join([]string{verb, keys.Counter, i.query["value"], i.query["force"], i.id}, "\x00")
	}
	i.c, err = h.counter(keys)
	return i, err
}

func (h *Handler) identityNext(r *http.Request) (reply, error) {
	i, err := h.readIdentity(r, "next")
	if err != nil {
		return reply{}, err
	}
	value, err := h.answers.do(r.Context(), i.id, func(*answer) (value int64, err error) { //nolint:contextcheck // what was asked of Redis ends by itself when the client has left
		ctx, cancel := h.detached(r)
		defer cancel()
		err = i.c.locked(ctx, func() error {
			value, err = h.identity(ctx, i.c, i.name)
			return i.db.explain(err)
		})
		return value, err
	})
	return reply{http.StatusOK, struct{ NewIdentityValue int64 }{value}}, err
}

func (h *Handler) identitySeed(r *http.Request) (reply, error) {
	i, err := h.readIdentity(r, "seed")
	if err != nil {
		return reply{}, err
	}
	value, err := i.number("value")
	if err != nil {
		return reply{}, err
	}
	var force bool
	if text := i.query["force"]; text != "" {
		if force, err = strconv.ParseBool(text); err != nil {
			return reply{}, argument("force is %s: must be true or false", quote(text))
		}
	}
	stands, err := h.answers.do(r.Context(), i.id, func(a *answer) (stands int64, err error) { //nolint:contextcheck // what was asked of Redis ends by itself when the client has left
		ctx, cancel := h.detached(r)
		defer cancel()
		err = i.c.locked(ctx, func() error {
			request := scripts.SeedRequest{Field: scripts.FieldValue, Name: i.name, Value: value, Force: force}
			if force {
				if a.expected == nil {
					found, err := scripts.Stands(ctx, h.client, i.c.keys.Counter, scripts.FieldValue)
					if err != nil {
						return err
					}
					a.expected = &found
				}
				request.Expected = *a.expected
			}
			stands, err = scripts.Seed(ctx, h.scripter, i.c.keys, request) // one that is lost would give what it is to be above
			return err
		})
		return stands, err
	})
	return reply{http.StatusOK, struct{ NewSeedValue int64 }{stands}}, err
}

// identities is all identities, by name, as far as they are asked for.
func (h *Handler) identities(r *http.Request) (reply, error) {
	q, err := parseQuery(r.URL.RawQuery)
	if err != nil {
		return reply{}, err
	}
	start, err := q.numberOr("start", 0)
	if err != nil {
		return reply{}, err
	}
	size, err := q.numberOr("pageSize", 1<<31-1)
	if err != nil {
		return reply{}, err
	}
	d, err := h.database(r.Context(), r.PathValue("database"))
	if err != nil {
		return reply{}, err
	}
	admin, err := allocator.NewAdmin(h.client, d.namespace)
	if err != nil {
		return reply{}, err
	}
	values := make(map[string]int64)
	for counter, err := range admin.Identities(r.Context()) {
		if err != nil {
			if errors.Is(err, allocator.ErrCorrupt) {
				continue
			}
			return reply{}, err
		}
		values[prefix.Fold(counter.Name)+"|"] = counter.Max
	}
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	first := min(start, int64(len(names)))
	last := first + min(size, int64(len(names))-first)
	page := make(map[string]int64)
	for _, name := range names[first:last] {
		page[name] = values[name]
	}
	return reply{http.StatusOK, page}, nil
}
