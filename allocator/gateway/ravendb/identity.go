package ravendb

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/gateway/internal/form"
	"github.com/hilo-id/hilo/allocator/gateway/internal/sentinel"
	"github.com/hilo-id/hilo/prefix"
)

const (
	maxRequestID = 128     // bytes of the id of a request
	maxAnswers   = 100_000 // requests that are remembered at once
	answerMemory = time.Minute
)

// requestID is a digest of the id of a request and its parameters, whose lengths clients choose.
type requestID [sha256.Size]byte

// answer is the answer to a request with an id.
type answer struct {
	mu    sync.Mutex // held while the request is in flight; guards what follows
	known bool
	value int64
}

// identityRequest is a request about one identity.
type identityRequest struct {
	*form.Query
	*database
	name string
	id   requestID // zero for a request without an id
}

func (h *Handler) readIdentity(r *http.Request) (i identityRequest, err error) {
	i.Query = form.Parse(r)
	i.name = h.name(i.Query, "name", "|")
	switch sent := i.Get("raft-request-id"); {
	case len(sent) > maxRequestID:
		i.Fail(sentinel.Invalidf("raft-request-id is %d bytes long: at most %d", len(sent), maxRequestID))
	case sent != "":
		i.id = sha256.Sum256([]byte(strings.Join([]string{
			path.Base(r.URL.Path), prefix.Fold(r.PathValue("database")), prefix.Fold(i.name), i.Get("value"), i.Get("force"), sent,
		}, "\x00")))
	}
	if i.Err != nil {
		return i, i.Err
	}
	if i.database, err = h.database(r.Context(), r.PathValue("database")); err == nil {
		_, err = i.use(i.name + "|")
	}
	return i, err
}

// once returns what send returns, or what it returned to a request with the same id within the last minute. A request is finished
// also if its client is gone.
func (h *Handler) once(r *http.Request, i identityRequest, send func(context.Context) (int64, error)) (_ int64, err error) {
	a := new(answer)
	if i.id != (requestID{}) {
		a = h.remember(i.id)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.known {
		ctx := context.WithoutCancel(r.Context())
		if err = h.opts.Masters.VerifyHome(ctx, i.namespace); err == nil {
			a.value, err = send(ctx)
		}
		a.known = err == nil
	}
	return a.value, err
}

// remember returns the answer for an id. Beyond maxAnswers it is not remembered.
func (h *Handler) remember(id requestID) *answer {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.answers[id]
	if a == nil {
		if a = new(answer); len(h.answers) < maxAnswers {
			h.answers[id] = a
			time.AfterFunc(answerMemory, func() { h.mu.Lock(); defer h.mu.Unlock(); delete(h.answers, id) })
		}
	}
	return a
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
	if i.id != (requestID{}) { // a forced seed acts once, whichever gateway it is sent to
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
