package ravendb

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/allocator/gateway/internal/sentinel"
	"github.com/hilo-id/hilo/prefix"
)

// maxRequestID is the greatest length of the id of a request, in bytes.
const maxRequestID = 128

// identityRequest is a request about one identity.
type identityRequest struct {
	query
	*database
	name string
}

func (h *Handler) readIdentity(r *http.Request) (i identityRequest, err error) {
	if i.query, i.name, err = h.readName(r, "name", "|"); err != nil {
		return i, err
	}
	if n := len(i.query["raft-request-id"]); n > maxRequestID {
		return i, sentinel.Invalidf("raft-request-id is %d bytes long: at most %d", n, maxRequestID)
	}
	if i.database, err = h.database(r.Context(), r.PathValue("database")); err != nil {
		return i, err
	}
	_, err = h.use(i.database, prefix.Fold(i.name)+"|", func() (*collection, error) { return nil, nil })
	return i, err
}

// id returns the digest of the id of a request to do what.
func (i identityRequest) id(what ...string) requestID {
	id := i.query["raft-request-id"]
	if id == "" {
		return requestID{}
	}
	return sha256.Sum256([]byte(strings.Join(append(what, i.namespace, prefix.Fold(i.name), id), "\x00")))
}

func (h *Handler) identityNext(r *http.Request) (any, error) {
	i, err := h.readIdentity(r)
	if err != nil {
		return nil, err
	}
	value, err := h.identities.get(i.id()).do(func() (int64, error) {
		ctx := detached(r) // a request is finished also if its client is gone
		i.seeding.RLock()
		defer i.seeding.RUnlock()
		if err := i.masters.forIdentity(ctx); err != nil {
			return 0, err
		}
		return i.ids.NextIdentity(ctx, i.name)
	})
	return struct{ NewIdentityValue int64 }{value}, explain(i.namespace, err)
}

func (h *Handler) identitySeed(r *http.Request) (any, error) {
	i, err := h.readIdentity(r)
	if err != nil {
		return nil, err
	}
	value, err := i.number("value")
	if err != nil {
		return nil, err
	}
	force, err := strconv.ParseBool(cmp.Or(i.query["force"], "false"))
	if err != nil {
		return nil, sentinel.Invalidf("force is %.64q: must be true or false", i.query["force"])
	}
	var id requestID
	if force { // another one acts as often as it is sent without harm
		id = i.id("seed", i.query["value"])
	}
	a := h.seeds.get(id)
	stands, err := a.do(func() (stands int64, err error) {
		err = h.ask(detached(r), func(ctx context.Context) error {
			stands, err = i.seed(ctx, a, value, force)
			return err
		})
		return stands, err
	})
	return struct{ NewSeedValue int64 }{stands}, explain(i.namespace, err)
}

// seed seeds an identity and returns the value that stands then.
func (i identityRequest) seed(ctx context.Context, a *answer, value int64, force bool) (int64, error) {
	if force {
		i.seeding.Lock()
		defer i.seeding.Unlock()
	}
	if err := i.masters.forIdentity(ctx); err != nil {
		return 0, err
	}
	if force {
		if err := i.expect(ctx, a, value); err != nil {
			return 0, err
		}
	}
	return i.operator.SeedIdentity(ctx, i.name, value, force)
}

// expect returns an error if a forced seed was attempted before, and the identity has neither the value that it found then nor the
// one that it sets: it may have taken effect without a reply, and would lower values that were issued since. Another process does
// not know of the attempt, until the script itself is sent a token for it.
func (i identityRequest) expect(ctx context.Context, a *answer, value int64) error {
	now, err := i.operator.Identity(ctx, i.name)
	switch {
	case err != nil && !errors.Is(err, allocator.ErrNotSeeded):
		return err
	case a.found == nil:
		a.found = &now.Max
	case now.Max != *a.found && now.Max != value:
		return fmt.Errorf("%w: identity %s stands at %d, and %d was expected", admin.ErrChanged, i.name, now.Max, *a.found)
	}
	return nil
}

// listIdentities returns a page of all identities, in the order of their names.
func (h *Handler) listIdentities(r *http.Request) (any, error) {
	q, err := parseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	start, err := q.numberOr("start", 0)
	if err != nil {
		return nil, err
	}
	size, err := q.numberOr("pageSize", 1<<31-1)
	if err != nil {
		return nil, err
	}
	d, err := h.database(r.Context(), r.PathValue("database"))
	if err != nil {
		return nil, err
	}
	values := make(map[string]int64)
	err = h.ask(r.Context(), func(ctx context.Context) error {
		for counter, err := range d.operator.Identities(ctx) {
			if err != nil && !errors.Is(err, allocator.ErrCorrupt) {
				return err
			}
			if err == nil {
				values[prefix.Fold(counter.Name)+"|"] = counter.Max
			}
		}
		return nil
	})
	names := slices.Sorted(maps.Keys(values))
	from := min(start, int64(len(names)))
	page := make(map[string]int64)
	for _, name := range names[from : from+min(size, int64(len(names))-from)] {
		page[name] = values[name]
	}
	return page, err
}
