package ravendb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/gateway/internal/sentinel"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// Theirs reports whether a path is one of RavenDB's, which a Handler answers, if only with 501.
func Theirs(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch first {
	case "topology", "databases", "cluster", "admin", "build", "certificates", "configuration", "license", "monitoring",
		"info", "operations", "periodic-backup", "rachis", "server", "setup", "studio", "studio-tasks", "debug", "test", "eula":
		return true
	}
	return false
}

// reply is the answer to a request.
type reply struct {
	status int
	body   any // nil for none
}

var (
	errOther   = errors.New("only ids are served here")
	errMethod  = errors.New("HEAD is not supported: send GET")
	errTooMany = errors.New("too many names")
)

// unknownDatabaseError is the name of a database that is not mapped.
type unknownDatabaseError string

func (u unknownDatabaseError) Error() string { return "unknown database " + quote(string(u)) }

// answering returns a handler that writes the reply or the error.
func answering(answer func(*http.Request) (reply, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead { // patterns for GET match it, and it must not issue anything
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
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}

// failure is the body of an error.
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
	case errors.Is(err, allocator.ErrInvalidOptions) || errors.Is(err, prefix.ErrInvalid):
		status, kind = http.StatusBadRequest, "System.ArgumentException"
	case errors.As(err, &unknown):
		status, kind = http.StatusServiceUnavailable, "Error"
		w.Header().Set("Database-Missing", string(unknown))
	case errors.Is(err, errTooManySeeds):
		status = http.StatusServiceUnavailable
		w.Header().Set("Retry-After", "60")
	case errors.Is(err, errTooMany):
		status = http.StatusTooManyRequests
		w.Header().Set("Retry-After", "60")
	case refused(err):
	default: // ErrNotDurable too
		status = http.StatusServiceUnavailable
		w.Header().Set("Retry-After", "1")
		if !errors.Is(err, scripts.ErrNotDurable) && !errors.Is(err, allocator.ErrUnavailable) {
			err = fmt.Errorf("%w: %w", allocator.ErrUnavailable, err)
		}
	}
	text := err.Error()
	if name, _ := sentinel.Of(err); name != "" {
		text = name + ": " + text
	}
	write(w, status, failure{URL: r.URL.RequestURI(), Type: kind, Message: text, Error: kind + ": " + text})
}

// refused reports whether the same request would be refused again, whatever becomes of the server.
func refused(err error) bool {
	var unknown unknownDatabaseError
	return errors.Is(err, allocator.ErrInvalidOptions) || errors.Is(err, prefix.ErrInvalid) || errors.As(err, &unknown) || errors.Is(err, errTooMany) ||
		errors.Is(err, allocator.ErrPrefixConflict) || scripts.Answered(err) && !errors.Is(err, scripts.ErrReply)
}

// detached returns a context for what is finished also if the client is gone. Each step has a time limit of its own.
func detached(r *http.Request) context.Context { return context.WithoutCancel(r.Context()) }

// Refuse writes an error in the form of RavenDB's, for a request that is not passed to a Handler.
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
