package ravendb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"

	"github.com/hilo-id/hilo/allocator/gateway/internal/sentinel"
)

// Handler answers RavenDB's clients. New makes one.
type Handler struct {
	opts     Options
	client   redis.UniversalClient
	scripter redis.Scripter // client, with what Durability asks for
	began    time.Time
	mux      http.ServeMux
	given    givenRanges
	answers  answers
	jumps    atomic.Int64

	mu        sync.Mutex           // guards what follows
	databases map[string]*database // by folded name, those that have a tag
	counters  map[string]*counter  // by key
}

// mostCounters and mostDatabases bound what clients can have a handler remember.
const (
	mostCounters  = 100_000
	mostDatabases = 10_000
)

// New makes a handler. It does no I/O. Errors: allocator.ErrInvalidOptions.
func New(opts Options) (*Handler, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("ravendb: %w", err)
	}
	client := opts.Client
	if single, ok := client.(*redis.Client); ok { // an attempt is to end with its time
		client = single.WithTimeout(opts.timeout())
	}
	h := &Handler{
		opts: opts, client: client, scripter: client, began: time.Now(),
		databases: make(map[string]*database), counters: make(map[string]*counter),
	}
	if d := opts.Durability; d.Replicas > 0 || d.Fsync {
		h.scripter = scripts.Durable(client, scripts.Durability{Replicas: d.Replicas, Fsync: d.Fsync, Timeout: d.Timeout})
	}
	for pattern, answer := range map[string]func(*http.Request) (reply, error){
		"GET /topology":                              h.topology,
		"GET /cluster/node-info":                     h.nodeInfo,
		"GET /databases/{database}/hilo/next":        h.hiloNext,
		"PUT /databases/{database}/hilo/return":      h.hiloReturn,
		"POST /databases/{database}/identity/next":   h.identityNext,
		"POST /databases/{database}/identity/seed":   h.identitySeed,
		"GET /databases/{database}/debug/identities": h.identities,
		"GET /databases/{database}/healthcheck":      h.healthcheck,
		"GET /databases/{database}/stats":            h.stats,
	} {
		h.mux.HandleFunc(pattern, answering(answer))
	}
	h.mux.HandleFunc("/", answering(func(*http.Request) (reply, error) { return reply{}, errOther }))
	return h, nil
}

// Jumps is how often a counter jumped on evidence of lost writes.
func (h *Handler) Jumps() int64 { return h.jumps.Load() }

// Theirs reports whether a path is one of RavenDB's, so that this handler is to
// answer it, if only with 501.
func Theirs(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch first {
	case "topology", "databases", "cluster", "admin", "build", "certificates", "configuration", "license", "monitoring",
		"operations", "periodic-backup", "rachis", "server", "setup", "studio", "studio-tasks", "debug", "test", "eula":
		return true
	}
	return false
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.mux.ServeHTTP(w, r) }

// reply is what a request is answered with.
type reply struct {
	status int
	body   any // nil: none
}

var (
	errOther   = errors.New("only ids are served here")
	errMethod  = errors.New("this method is not answered here")
	errTooMany = errors.New("too many names for one gateway")
)

// unknownDatabaseError is the name of one that is not mapped.
type unknownDatabaseError string

func (u unknownDatabaseError) Error() string { return "there is no database " + quote(string(u)) }

// answering is a handler that writes the reply, or what went wrong.
func answering(answer func(*http.Request) (reply, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead { // it comes with GET, and is not to take anything
			fail(w, r, errMethod)
			return
		}
		got, err := answer(r)
		if err != nil {
			fail(w, r, err)
			return
		}
		write(w, got.status, got.body)
	}
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Cache-Control", "no-store")
	if body == nil {
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // a client that is gone is told nothing
}

// failure is the body of an error, as RavenDB's clients read it.
type failure struct {
	URL     string `json:"Url"`
	Type    string `json:"Type"`
	Message string `json:"Message"`
	Error   string `json:"Error"`
}

func fail(w http.ResponseWriter, r *http.Request, err error) {
	status, kind := http.StatusInternalServerError, "System.InvalidOperationException"
	var unknown unknownDatabaseError
	switch {
	case errors.Is(err, errOther):
		status, kind = http.StatusNotImplemented, "System.NotSupportedException"
	case errors.Is(err, errMethod):
		status, kind = http.StatusMethodNotAllowed, "System.NotSupportedException"
		w.Header().Set("Allow", http.MethodGet)
	case errors.Is(err, errArgument) || errors.Is(err, prefix.ErrInvalid):
		status, kind = http.StatusBadRequest, "System.ArgumentException"
	case errors.As(err, &unknown):
		status, kind = http.StatusServiceUnavailable, "Error"
		w.Header().Set("Database-Missing", string(unknown))
	case errors.Is(err, ErrNoTag) || errors.Is(err, errTooMany) || errors.Is(err, allocator.ErrPrefixConflict) || scripts.Answered(err) && !errors.Is(err, scripts.ErrReply):
	default: // not durable among them
		status = http.StatusServiceUnavailable
		w.Header().Set("Retry-After", "1")
		if !errors.Is(err, scripts.ErrNotDurable) {
			err = fmt.Errorf("%w: %w", allocator.ErrUnavailable, err)
		}
	}
	text := err.Error()
	if name := sentinel.Name(err); name != "" {
		text = name + ": " + text
	}
	write(w, status, failure{URL: r.URL.RequestURI(), Type: kind, Message: text, Error: kind + ": " + text})
}

// counter is what is known of the counter of a name.
func (h *Handler) counter(keys scripts.Keys) (*counter, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c, ok := h.counters[keys.Counter]
	if !ok {
		if len(h.counters) >= mostCounters {
			return nil, fmt.Errorf("%w: it remembers %d counters", errTooMany, mostCounters)
		}
		c = &counter{keys: keys, turn: make(chan struct{}, 1)}
		h.counters[keys.Counter] = c
	}
	return c, nil
}

// detached is a time for what is to be finished when the client has gone.
func (h *Handler) detached(r *http.Request) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(r.Context()), 2*h.opts.timeout())
}

// Refuse answers a request of RavenDB's clients that is not let through to a
// Handler, in words that they read.
func Refuse(w http.ResponseWriter, r *http.Request, status int, why string) {
	kind := "System.InvalidOperationException"
	switch status {
	case http.StatusForbidden:
		kind = "Raven.Client.Exceptions.Security.AuthorizationException"
	case http.StatusNotImplemented:
		kind = "System.NotSupportedException"
	}
	write(w, status, failure{URL: r.URL.RequestURI(), Type: kind, Message: why, Error: kind + ": " + why})
}
