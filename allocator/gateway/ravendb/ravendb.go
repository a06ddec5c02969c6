package ravendb

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/internal/fleet"
	"github.com/hilo-id/hilo/scripts"
)

// New returns a handler. It does no I/O. Errors: allocator.ErrInvalidOptions.
func New(opts Options) (*Handler, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("ravendb: %w", err)
	}
	client := opts.Client
	if single, ok := client.(*redis.Client); ok { // an attempt ends with its time
		client = single.WithTimeout(opts.timeout())
	}
	h := &Handler{
		opts: opts, client: client, gate: fleet.NewGate(),
		ranges:           newRanges(maxRanges),
		identitiesIssued: answers{max: maxAnswers, memory: identityMemory},
		forcedSeeds:      answers{max: maxAnswers, memory: seedMemory, full: errTooManySeeds},
		namespaces:       make(map[string]*namespace), counters: make(map[string]*counter),
		topologyEtag: etag(opts.Nodes, time.Now()),
	}
	h.backends = append(h.backends, newBackend(opts.Client, scripts.Durability(opts.Durability), opts.timeout()))
	for _, other := range opts.Others { // which are only described
		h.backends = append(h.backends, newBackend(other.Client, scripts.Durability{}, opts.Timeout))
	}
	for _, route := range []struct {
		pattern string
		status  int
		answer  func(*http.Request) (any, error)
	}{
		{"GET /topology", http.StatusOK, h.topology},
		{"GET /cluster/node-info", http.StatusOK, h.nodeInfo},
		{"GET /databases/{database}/hilo/next", http.StatusCreated, h.hiloNext},
		{"PUT /databases/{database}/hilo/return", http.StatusNoContent, h.hiloReturn},
		{"POST /databases/{database}/identity/next", http.StatusOK, h.identityNext},
		{"POST /databases/{database}/identity/seed", http.StatusOK, h.identitySeed},
		{"GET /databases/{database}/debug/identities", http.StatusOK, h.identities},
		{"GET /databases/{database}/healthcheck", http.StatusNoContent, h.healthcheck},
		{"GET /databases/{database}/stats", http.StatusOK, h.stats},
		{"/", 0, func(*http.Request) (any, error) { return nil, errOther }},
	} {
		h.mux.HandleFunc(route.pattern, answering(route.status, route.answer))
	}
	return h, nil
}

func newBackend(client redis.UniversalClient, d scripts.Durability, timeout time.Duration) fleet.Backend {
	return fleet.NewBackend(scripts.Prepare(client, d, timeout), d)
}

// Check contacts the server and returns an error if the namespace of a mapped database has no node tag, without which
// clients' identifiers would end in "-". It writes nothing. New does no I/O, so a program that wants to fail at its start
// calls Check. Errors: ErrNoTag, allocator.ErrUnavailable, allocator.ErrInvalidOptions.
func Check(ctx context.Context, opts Options) error {
	h, err := New(opts)
	if err != nil {
		return err
	}
	for _, namespace := range slices.Sorted(maps.Values(h.opts.Databases)) {
		if _, err := h.describe(ctx, namespace); refused(err) {
			return fmt.Errorf("ravendb: %w", err)
		} else if err != nil {
			return fmt.Errorf("ravendb: %w: %w", allocator.ErrUnavailable, err)
		}
	}
	return nil
}
