package ravendb

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/allocator/gateway/internal/sentinel"
	"github.com/hilo-id/hilo/allocator/internal/batcher"
	"github.com/hilo-id/hilo/allocator/internal/fleet"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// maxRequestID is the greatest length of the id of a request, in bytes.
const maxRequestID = 128

// identityRequest is a request about one identity.
type identityRequest struct {
	query
	space *namespace
	c     *counter
	name  string
	id    requestID
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
		return i, fmt.Errorf("name: %w", err)
	}
	id := i.query["raft-request-id"]
	if len(id) > maxRequestID {
		return i, sentinel.Invalidf("raft-request-id is %d bytes long: at most %d", len(id), maxRequestID)
	}
	if i.space, err = h.namespace(r.Context(), r.PathValue("database")); err != nil {
		return i, err
	}
	if i.c, err = h.counter(i.space, fleet.Identity, i.name); err != nil {
		return i, err
	}
	if id != "" {
		var value, force string // only a seed has them, which validates both before it uses the id
		if verb == "seed" {
			value, force = i.query["value"], i.query["force"]
		}
		i.id = sha256.Sum256([]byte(strings.Join([]string{verb, i.c.keys.Counter, value, force, id}, "\x00")))
	}
	return i, nil
}

func (h *Handler) identityNext(r *http.Request) (reply, error) {
	i, err := h.readIdentity(r, "next")
	if err != nil {
		return reply{}, err
	}
	value, err := h.identitiesIssued.do(r.Context(), i.id, func(*answer) (int64, error) { //nolint:contextcheck // a request is finished also if its client is gone
		ctx := detached(r)
		i.c.seeding.RLock()
		defer i.c.seeding.RUnlock()
		var got batcher.Result
		err := i.space.atHome(ctx, i.name, func() error {
			got = i.space.identities.Take(ctx, i.space.server(), fleet.Request{Kind: fleet.Identity, Name: i.name, Count: 1, Limit: h.opts.Limit})
			return got.Err
		})
		return got.Low, err
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
			return reply{}, sentinel.Invalidf("force is %s: must be true or false", quote(text))
		}
	}
	request := scripts.SeedRequest{Field: scripts.FieldValue, Name: i.name, Value: value, Force: force}
	if !force {
		i.id = requestID{} // it acts as often as it is sent without harm
	}
	stands, err := h.forcedSeeds.do(r.Context(), i.id, func(a *answer) (stands int64, err error) { //nolint:contextcheck // a request is finished also if its client is gone
		ctx := detached(r)
		err = h.ask(ctx, func() error {
			i.c.seeding.Lock()
			defer i.c.seeding.Unlock()
			return i.space.atHome(ctx, i.name, func() (err error) {
				ctx, cancel := context.WithTimeout(ctx, 2*h.opts.timeout())
				defer cancel()
				stands, err = h.seed(ctx, i, a, request)
				return err
			})
		})
		return stands, err
	})
	return reply{http.StatusOK, struct{ NewSeedValue int64 }{stands}}, err
}

// seed sends a seed and returns the value that stands then. A forced one takes effect only in the state that its first
// attempt found. It is confirmed as a range is: a seed that is lost would issue the values that it was to skip.
func (h *Handler) seed(ctx context.Context, i identityRequest, a *answer, request scripts.SeedRequest) (int64, error) {
	if request.Force {
		if a.expected == nil {
			found, err := h.expect(ctx, i.c.keys.Counter, i.id)
			if err != nil {
				return 0, err
			}
			a.expected = &found
		}
		request.Expected = *a.expected
	}
	client, err := h.confirming(ctx, i.space)
	if err != nil {
		return 0, err
	}
	return scripts.Seed(ctx, client, i.c.keys, request)
}

// confirming returns the client for writes that are confirmed as the options and the server's Durable require.
func (h *Handler) confirming(ctx context.Context, space *namespace) (redis.Scripter, error) {
	operator, err := admin.New(h.client, admin.Options{Namespace: space.name})
	if err != nil {
		return nil, err
	}
	settings, err := operator.ServerPrefix(ctx)
	if err != nil {
		return nil, err
	}
	d := scripts.Durability(h.opts.Durability)
	if settings.Replicas() <= d.Replicas {
		return h.scripter, nil
	}
	d.Replicas = settings.Replicas()
	if err := fleet.CheckConfirmable(h.opts.Client, d); err != nil {
		return nil, err
	}
	return scripts.Durable(h.client, d), nil
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
	space, err := h.namespace(r.Context(), r.PathValue("database"))
	if err != nil {
		return reply{}, err
	}
	operator, err := admin.New(h.client, admin.Options{Namespace: space.name})
	if err != nil {
		return reply{}, err
	}
	values := make(map[string]int64)
	ctx := r.Context()
	if err := h.ask(ctx, func() error {
		for counter, err := range operator.Identities(ctx) {
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
		return reply{}, err
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
