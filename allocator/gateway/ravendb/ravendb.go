package ravendb

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/gateway/internal/gate"
	"github.com/hilo-id/hilo/allocator/gateway/internal/once"
	"github.com/hilo-id/hilo/prefix"
)

// Handler answers RavenDB's clients.
type Handler struct {
	opts         Options
	mux          http.ServeMux
	gate         *gate.Gate // of requests that no Allocator sends
	ranges       ranges
	answers      once.Answers // to requests about identities
	topologyEtag int64

	mu        sync.Mutex           // guards what follows
	databases map[string]*database // by namespace, those that had a tag
	closed    bool
}

// New returns a handler. It does no I/O. Errors: allocator.ErrInvalidOptions.
func New(opts Options) (*Handler, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("ravendb: %w", err)
	}
	h := &Handler{
		opts: opts, gate: gate.New(), ranges: ranges{max: maxRanges, byEnd: make(map[rangeEnd]issuedRange)},
		topologyEtag: etag(opts.Nodes, time.Now()), databases: make(map[string]*database),
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
		{"GET /databases/{database}/debug/identities", http.StatusOK, h.listIdentities},
		{"GET /databases/{database}/healthcheck", http.StatusNoContent, h.healthcheck},
		{"GET /databases/{database}/stats", http.StatusOK, h.stats},
		{"/", 0, func(*http.Request) (any, error) { return nil, errOther }},
	} {
		h.mux.HandleFunc(route.pattern, answering(route.status, route.answer))
	}
	return h, nil
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.mux.ServeHTTP(w, r) }

// Allocators returns those of all databases that were used.
func (h *Handler) Allocators() (all []*allocator.Allocator) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, d := range h.databases {
		all = append(all, d.ids)
	}
	return all
}

// Close ends the allocators of all databases, after the last request. Later requests are answered with 503.
func (h *Handler) Close(ctx context.Context) (err error) {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	for _, ids := range h.Allocators() {
		err = errors.Join(err, ids.Close(ctx))
	}
	return err
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
		if _, err := h.tag(ctx, namespace); err != nil {
			return fmt.Errorf("ravendb: %w", err)
		}
	}
	return nil
}

// ErrNoTag is a namespace without a node tag. It matches allocator.ErrPrefixMissing.
var ErrNoTag = fmt.Errorf("%w: the server has no node tag, which the ids of RavenDB's clients end in", allocator.ErrPrefixMissing)

func noTag(namespace string) error {
	return fmt.Errorf("%w; set one with hilo settings set --tag A --namespace %s, or by hilo init if the server is new", ErrNoTag, namespace)
}

// resolve returns the namespace of a database.
func (h *Handler) resolve(database string) (namespace string, err error) {
	if err = prefix.ValidateNamespace(database); err == nil {
		namespace = prefix.Fold(database)
		err = prefix.ValidateNamespace(namespace) // it may be longer, or no longer in NFC
	}
	if err != nil {
		return "", fmt.Errorf("database: %w", err)
	}
	if len(h.opts.Databases) == 0 {
		return namespace, nil
	}
	if namespace = h.opts.Databases[namespace]; namespace == "" {
		err = unknownDatabase(database)
	}
	return namespace, err
}
