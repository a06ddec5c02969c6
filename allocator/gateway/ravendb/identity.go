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

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/gateway/internal/sentinel"
	"github.com/hilo-id/hilo/allocator/internal/fleet"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// maxRequestID is the greatest length of the id of a request, in bytes.
const maxRequestID = 128

// identityRequest is a request about one identity.
type identityRequest struct {
	query
	c    *counter
	name string
}

func (h *Handler) readIdentity(r *http.Request) (i identityRequest, err error) {
	if i.query, i.name, err = h.readName(r, "name", "|"); err != nil {
		return i, err
	}
	if n := len(i.query["raft-request-id"]); n > maxRequestID {
		return i, sentinel.Invalidf("raft-request-id is %d bytes long: at most %d", n, maxRequestID)
	}
	i.c, err = h.counter(r, fleet.Identity, i.name)
	return i, err
}

// id returns the digest of the id of a request to do what.
func (i identityRequest) id(what ...string) requestID {
	id := i.query["raft-request-id"]
	if id == "" {
		return requestID{}
	}
	return sha256.Sum256([]byte(strings.Join(append(what, id), "\x00")))
}

func (h *Handler) identityNext(r *http.Request) (any, error) {
	i, err := h.readIdentity(r)
	if err != nil {
		return nil, err
	}
	key := i.c.keys.Counter
	value, err := h.identitiesIssued.do(r.Context(), i.id(key), func(*answer) (int64, error) { //nolint:contextcheck // a request is finished also if its client is gone
		ctx := detached(r)
		i.c.seeding.RLock()
		defer i.c.seeding.RUnlock()
		var got fleet.Result
		err := i.c.space.atHome(ctx, i.name, func() error {
			got = i.c.space.server.Take(ctx, fleet.Request{Kind: fleet.Identity, Name: i.name, Count: 1, Limit: h.opts.Limit})
			return got.Err
		})
		return got.Low, err
	})
	return struct{ NewIdentityValue int64 }{value}, err
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
		id = i.id("seed", i.c.keys.Counter, i.query["value"], i.query["force"])
	}
	stands, err := h.forcedSeeds.do(r.Context(), id, func(a *answer) (int64, error) { //nolint:contextcheck // a request is finished also if its client is gone
		return h.seed(detached(r), i, a, scripts.SeedRequest{Field: scripts.FieldValue, Name: i.name, Value: value, Force: force})
	})
	return struct{ NewSeedValue int64 }{stands}, err
}

// seed sends a seed and returns the value that stands then. A forced one takes effect only in the state that its first
// attempt found. It is confirmed as a range is: a seed that is lost would issue the values that it was to skip.
func (h *Handler) seed(ctx context.Context, i identityRequest, a *answer, request scripts.SeedRequest) (stands int64, err error) {
	send := func() error {
		ctx, cancel := context.WithTimeout(ctx, 2*h.opts.timeout())
		defer cancel()
		if request.Force && a.expected == nil {
			found, err := h.expect(ctx, i.c.keys.Counter, a.id)
			if err != nil {
				return err
			}
			a.expected = &found
		}
		if request.Force {
			request.Expected = *a.expected
		}
		client, err := h.confirming(ctx, i.c.space)
		if err == nil {
			stands, err = scripts.Seed(ctx, client, i.c.keys, request)
		}
		return err
	}
	err = h.ask(ctx, func() error {
		i.c.seeding.Lock()
		defer i.c.seeding.Unlock()
		return i.c.space.atHome(ctx, i.name, send)
	})
	return stands, err
}

// confirming returns the client for writes that are confirmed as the options and the server's Durable require.
func (h *Handler) confirming(ctx context.Context, space *namespace) (redis.Scripter, error) {
	settings, err := space.operator.ServerPrefix(ctx)
	if err != nil {
		return nil, err
	}
	d := scripts.Durability(h.opts.Durability)
	d.Replicas = max(d.Replicas, settings.Replicas())
	if d.Replicas == 0 && !d.Fsync {
		return h.client, nil
	}
	return scripts.Durable(h.client, d), fleet.CheckConfirmable(h.opts.Client, d)
}

// fieldForced of an identity has the id of the newest forced seed and the state that its first attempt found.
const fieldForced = "Forced"

// expect returns the state that a forced seed is to find. The identity's hash keeps it, written before the seed acts: the same
// request may come to another gateway, when this one is down, or to this one after a restart. If it read the state anew there, it
// would lower numbers that were issued since. The state and the field are read at once, so a request that finds no field found
// the state before the other one acted.
func (h *Handler) expect(ctx context.Context, counter string, id requestID) (scripts.Standing, error) {
	if id == (requestID{}) {
		return scripts.Stands(ctx, h.client, counter, scripts.FieldValue)
	}
	read, err := h.client.HMGet(ctx, counter, scripts.FieldValue, "Written", fieldForced).Result()
	if err != nil {
		return scripts.Standing{}, err
	}
	var texts [3]string
	for i := range texts {
		texts[i], _ = read[i].(string)
	}
	sum := fmt.Sprintf("%x", id)
	if state, ok := strings.CutPrefix(texts[2], sum+" "); ok {
		value, written, _ := strings.Cut(state, " ")
		return scripts.Standing{Value: value, Written: written}, nil
	}
	found := scripts.Standing{Value: texts[0], Written: texts[1]}
	return found, h.client.HSet(ctx, counter, fieldForced, sum+" "+found.Value+" "+found.Written).Err()
}

// identities returns a page of all identities, in the order of their names.
func (h *Handler) identities(r *http.Request) (any, error) {
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
	space, err := h.namespace(r.Context(), r.PathValue("database"))
	if err != nil {
		return nil, err
	}
	values := make(map[string]int64)
	ctx := r.Context()
	if err := h.ask(ctx, func() error {
		for counter, err := range space.operator.Identities(ctx) {
			if err != nil {
				if errors.Is(err, allocator.ErrCorrupt) {
					continue
				}
				return err
			}
			values[prefix.Fold(counter.Name)+"|"] = counter.Max
		}
		return nil
	}); err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(values))
	first := min(start, int64(len(names)))
	last := first + min(size, int64(len(names))-first)
	page := make(map[string]int64)
	for _, name := range names[first:last] {
		page[name] = values[name]
	}
	return page, nil
}
