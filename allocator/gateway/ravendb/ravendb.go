// Package ravendb serves RavenDB's own clients, unmodified, with HiLo ranges and identities, over the part of RavenDB's
// HTTP protocol that is about identifiers. A Handler is one half of package gateway's, and can be used alone.
//
// Each database has an Allocator of its own, of one master. A range is Collection.Take, an identity is Allocator.NextIdentity, and
// their guarantees are those of package allocator.
//
// A Handler is safe for concurrent use. Close ends its allocators.
package ravendb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/gateway/internal/form"
	"github.com/hilo-id/hilo/allocator/gateway/internal/gate"
	"github.com/hilo-id/hilo/allocator/gateway/internal/names"
	"github.com/hilo-id/hilo/allocator/gateway/internal/once"
	"github.com/hilo-id/hilo/allocator/gateway/internal/respond"
	"github.com/hilo-id/hilo/allocator/gateway/internal/sentinel"
)

// Handler answers RavenDB's clients.
type Handler struct {
	opts      Options
	mux       http.ServeMux
	gate      *gate.Gate            // of requests that no Allocator sends
	databases *names.Map[*database] // by namespace, those that had a tag
	ranges    ranges
	answers   once.Answers // to requests about identities
	etag      int64        // of the topology
}

// New returns a handler. It does no I/O. Errors: allocator.ErrInvalidOptions.
func New(opts Options) (*Handler, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("ravendb: %w", err)
	}
	h := &Handler{opts: opts, gate: gate.New(), databases: names.New[*database]("databases", opts.MaxNames), ranges: newRanges(), etag: 1}
	if len(opts.Nodes) > 0 { // clients replace a topology only by one with a greater Etag, and the list changes at a start
		h.etag = time.Now().UnixNano() >> 9 // exact in a double, and above those of versions before
	}
	// A range of a durable server waits 1.5 s for its ceiling, and for ever while that cannot be raised.
	format := respond.Format{Type: jsonType, Timeout: 2 * opts.Allocator.RefillTimeout, Fail: fail}
	for _, route := range []struct {
		pattern string
		status  int
		answer  func(context.Context, *form.Query) (any, error)
	}{
		{"GET /topology", http.StatusOK, h.topology},
		{"GET /cluster/node-info", http.StatusOK, h.nodeInfo},
		{"GET /databases/{database}/hilo/next", http.StatusCreated, h.hiloNext},
		{"HEAD /databases/{database}/hilo/next", 0, other}, // a pattern for GET matches it too, and it must not issue anything
		{"PUT /databases/{database}/hilo/return", http.StatusNoContent, h.hiloReturn},
		{"POST /databases/{database}/identity/next", http.StatusOK, h.identityNext},
		{"POST /databases/{database}/identity/seed", http.StatusOK, h.identitySeed},
		{"GET /databases/{database}/debug/identities", http.StatusOK, h.listIdentities},
		{"GET /databases/{database}/healthcheck", http.StatusNoContent, h.healthcheck},
		{"GET /databases/{database}/stats", http.StatusOK, h.healthcheck},
		{"/", 0, other},
	} {
		h.mux.HandleFunc(route.pattern, format.Handler(route.status, route.answer))
	}
	return h, nil
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.mux.ServeHTTP(w, r) }

// Allocators returns those of all databases that were used.
func (h *Handler) Allocators() (all []*allocator.Allocator) {
	for _, d := range h.databases.Values() {
		all = append(all, d.ids)
	}
	return all
}

// Close ends the allocators of all databases, after the last request. Later requests are answered with 503.
func (h *Handler) Close(ctx context.Context) (err error) {
	for _, d := range h.databases.Close(fmt.Errorf("%w: the gateway ends", allocator.ErrClosed)) {
		err = errors.Join(err, d.ids.Close(ctx))
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
	for _, name := range slices.Sorted(maps.Keys(h.opts.Databases)) {
		if _, err := h.database(ctx, new(form.Query), name); err != nil {
			return fmt.Errorf("ravendb: %w", err)
		}
	}
	return nil
}

const jsonType = "application/json; charset=utf-8"

// other refuses a request for anything else.
func other(context.Context, *form.Query) (any, error) {
	return nil, &sentinel.RefusalError{Status: http.StatusNotImplemented, Text: "only ids are served here"}
}

// fail writes an error. Clients take 409 for a conflict, and one crashes at 404.
func fail(w http.ResponseWriter, r *http.Request, err error) {
	name, refusal := sentinel.Of(err)
	if name != "" {
		refusal.Text = name + ": " + strings.TrimPrefix(strings.TrimPrefix(refusal.Text, "allocator: "), "admin: ")
		if refusal.Status != http.StatusServiceUnavailable && refusal.Status != http.StatusBadRequest {
			refusal.Status = http.StatusInternalServerError
		}
	}
	refusal.SetHeader(w.Header())
	Refuse(w, r, refusal.Status, refusal.Text)
}

// kinds are the types of errors by their status. Others are System.InvalidOperationException.
var kinds = map[int]string{
	http.StatusBadRequest:     "System.ArgumentException",
	http.StatusForbidden:      "Raven.Client.Exceptions.Security.AuthorizationException",
	http.StatusNotImplemented: "System.NotSupportedException",
}

// Refuse writes an error in the form of RavenDB's. A gateway calls it for a request that it does not pass to a Handler.
func Refuse(w http.ResponseWriter, r *http.Request, status int, why string) {
	kind := cmp.Or(kinds[status], "System.InvalidOperationException")
	if w.Header().Get("Database-Missing") != "" {
		kind = "Error"
	}
	respond.Write(w, jsonType, status, struct {
		URL                  string `json:"Url"`
		Type, Message, Error string
	}{r.URL.RequestURI(), kind, why, kind + ": " + why})
}
