package ravendb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/allocator/internal/fleet"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// Handler answers RavenDB's clients. It starts no timer, and no goroutine outlasts the timeouts in Options.
type Handler struct {
	opts     Options
	client   redis.UniversalClient
	backends []fleet.Backend // of all masters
	gate     *fleet.Gate     // of requests to the server that no fleet sends
	mux      http.ServeMux
	ranges   *ranges

	topologyEtag int64
	// identitiesIssued are the answers to requests for an identity, and forcedSeeds those to forced seeds. They are apart
	// so that no other request can make a forced seed forgotten: repeated, it would lower the identity again.
	identitiesIssued, forcedSeeds answers

	mu         sync.Mutex            // guards what follows
	namespaces map[string]*namespace // those that had a tag
	counters   map[string]*counter   // by key
}

// maxNamespaces bounds the memory that clients can make a handler use, beside Options.MaxNames.
const maxNamespaces = 10_000

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.mux.ServeHTTP(w, r) }

// Jumps returns how often a counter jumped on evidence of lost writes.
func (h *Handler) Jumps() (jumps int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, n := range h.namespaces {
		servers, _ := n.fleet.Stats()
		for _, times := range servers[0].Jumps {
			jumps += times
		}
	}
	return jumps
}

// readName parses the query of a request, and its parameter that names a collection, or an identity, with or without mark.
func (h *Handler) readName(r *http.Request, parameter, mark string) (q query, name string, err error) {
	if q, err = parseQuery(r.URL.RawQuery); err != nil {
		return nil, "", err
	}
	if name, err = q.required(parameter); err != nil {
		return nil, "", err
	}
	name = strings.TrimSuffix(name, mark)
	if err := prefix.ValidateCollection(name, h.opts.Separator); err != nil {
		return nil, "", fmt.Errorf("%s: %w", parameter, err)
	}
	return q, name, nil
}

// counter returns the counter for a name in the database of a request.
func (h *Handler) counter(r *http.Request, kind fleet.Kind, name string) (*counter, error) {
	space, err := h.namespace(r.Context(), r.PathValue("database"))
	if err != nil {
		return nil, err
	}
	keys := scripts.Keys{Counter: space.keys.HiLo(name), Server: space.keys.Server(), Other: space.keys.Identity(name)}
	if kind == fleet.Identity {
		keys.Counter, keys.Other = keys.Other, keys.Counter
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	c, ok := h.counters[keys.Counter]
	if !ok {
		if len(h.counters) >= h.opts.MaxNames {
			return nil, fmt.Errorf("%w: this gateway has served %d, and serves no further ones until it is restarted: check that clients use few names, or raise MaxNames (--max-names)",
				errTooMany, h.opts.MaxNames)
		}
		c = &counter{space: space, name: name, keys: keys, turn: make(chan struct{}, 1)}
		h.counters[keys.Counter] = c
	}
	return c, nil
}

// newNamespace returns a namespace with this node tag and a fleet of all masters.
func (h *Handler) newNamespace(name, tag string) (*namespace, error) {
	operator, err := admin.New(h.client, admin.Options{Namespace: name})
	if err != nil {
		return nil, err
	}
	servers := []fleet.Config{{Name: h.opts.Name, Backend: h.backends[0], Namespace: name}}
	for i, other := range h.opts.Others {
		servers = append(servers, fleet.Config{Name: other.Name, Backend: h.backends[i+1], Namespace: cmp.Or(other.Namespaces[name], name)})
	}
	masters := fleet.New(servers, fleet.Options{
		AttemptTimeout: h.opts.timeout(),
		CheckTimeout:   h.opts.Timeout,
		RequireSeeded:  h.opts.RequireSeeded,
		RequirePrefix:  true, // a server that lost everything would begin at 1
		OnRequest:      true,
		Logger:         h.opts.Logger,
		Recovered:      func() int { return 0 },
		NameServer:     func(_ string, err error) error { return err },
	})
	n := &namespace{name: name, keys: prefix.NewKeys(name), operator: operator, fleet: masters, server: masters.Servers()[0]}
	n.tag.Store(&tag)
	return n, nil
}

// namespace returns the namespace of a database. Before its first use the server is asked for the node tag, so that nothing is
// written without one.
func (h *Handler) namespace(ctx context.Context, database string) (*namespace, error) {
	name, err := h.resolve(database)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	n, ok := h.namespaces[name]
	h.mu.Unlock()
	if ok {
		return n, nil
	}
	tag, err := h.describe(ctx, name)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if n, ok := h.namespaces[name]; ok {
		return n, nil
	}
	if len(h.namespaces) >= maxNamespaces {
		return nil, fmt.Errorf("%w: this gateway has served %d databases: map those in use with Databases (--database)", errTooMany, maxNamespaces)
	}
	if n, err = h.newNamespace(name, tag); err == nil {
		h.namespaces[name] = n
	}
	return n, err
}

// resolve returns the name of the namespace of a database.
func (h *Handler) resolve(database string) (string, error) {
	if err := prefix.ValidateNamespace(database); err != nil {
		return "", fmt.Errorf("database: %w", err)
	}
	folded := prefix.Fold(database)
	if len(h.opts.Databases) == 0 {
		if err := prefix.ValidateNamespace(folded); err != nil { // longer, or no longer in NFC
			return "", fmt.Errorf("database: %w", err)
		}
		return folded, nil
	}
	name, ok := h.opts.Databases[folded]
	if !ok {
		return "", unknownDatabaseError(database)
	}
	return name, nil
}

// ask sends a request to the server when its back-off permits.
func (h *Handler) ask(ctx context.Context, send func() error) error {
	return h.gate.Pass(ctx, func(err error) bool { return !refused(err) && !errors.Is(err, redis.ErrPoolTimeout) }, send)
}

// describe asks the server for its node tag in a namespace.
func (h *Handler) describe(ctx context.Context, name string) (tag string, err error) {
	ctx, cancel := context.WithTimeout(ctx, h.opts.timeout())
	defer cancel()
	key := prefix.NewKeys(name).Server()
	var desc scripts.Description
	if err := h.ask(ctx, func() (err error) {
		desc, err = scripts.Describe(ctx, h.client, key)
		return err
	}); err != nil {
		return "", err
	}
	if desc.Tag == "" {
		return "", noTag(name)
	}
	if err := (prefix.Server{ServerPrefix: desc.Prefix, NodeTag: desc.Tag}).Validate(); err != nil { // the script checks a part of the rule
		return "", fmt.Errorf("%w: key %s: %v", scripts.ErrCorrupt, key, err) //nolint:errorlint // it is not about the request
	}
	return desc.Tag, nil
}
