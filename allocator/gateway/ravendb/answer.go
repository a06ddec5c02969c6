package ravendb

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/hilo-id/hilo/allocator/gateway/internal/sentinel"
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

var (
	errOther   = errors.New("only ids are served here")
	errMethod  = errors.New("HEAD is not supported: send GET")
	errTooMany = errors.New("too many names")
)

func tooMany(what string, max int) error {
	return fmt.Errorf("%w: this gateway has served %d %s, and serves no further ones until it is restarted: check that clients use few, or raise MaxNames (--max-names)",
		errTooMany, max, what)
}

// unknownDatabaseError is the name of a database that is not mapped.
type unknownDatabaseError string

func (u unknownDatabaseError) Error() string { return fmt.Sprintf("unknown database %.64q", string(u)) }

// answering returns a handler that writes the answer with this status, or the error.
func answering(status int, answer func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var body any
		err := errMethod
		if r.Method != http.MethodHead { // patterns for GET match it, and it must not issue anything
			body, err = answer(r)
		}
		if err != nil {
			fail(w, r, err)
			return
		}
		write(w, status, body)
	}
}

// write writes an answer. A nil body is none.
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

func fail(w http.ResponseWriter, r *http.Request, err error) {
	name, status := sentinel.Of(err)
	kind, retryAfter := "", ""
	unknown, isUnknown := errors.AsType[unknownDatabaseError](err)
	switch {
	case errors.Is(err, errOther):
		status = http.StatusNotImplemented
	case errors.Is(err, errMethod):
		status = http.StatusMethodNotAllowed
		w.Header().Set("Allow", http.MethodGet)
	case errors.Is(err, errTooMany):
		status, retryAfter = http.StatusTooManyRequests, "60"
	case isUnknown:
		kind = "Error"
		w.Header().Set("Database-Missing", string(unknown))
	case status == http.StatusServiceUnavailable:
		name, retryAfter = cmp.Or(name, "ErrUnavailable"), "1"
	case status != http.StatusBadRequest:
		status = http.StatusInternalServerError
	}
	if retryAfter != "" {
		w.Header().Set("Retry-After", retryAfter)
	}
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "allocator: "), "admin: ")
	if name != "" {
		text = name + ": " + text
	}
	writeFailure(w, r, status, kind, text)
}

// Refuse writes an error in the form of RavenDB's, for a request that is not passed to a Handler.
func Refuse(w http.ResponseWriter, r *http.Request, status int, why string) {
	writeFailure(w, r, status, "", why)
}

// failure is the body of an error.
type failure struct {
	URL     string `json:"Url"`
	Type    string `json:"Type"`
	Message string `json:"Message"`
	Error   string `json:"Error"`
}

// kinds are the types of errors by their status. Others are System.InvalidOperationException.
var kinds = map[int]string{
	http.StatusBadRequest:       "System.ArgumentException",
	http.StatusForbidden:        "Raven.Client.Exceptions.Security.AuthorizationException",
	http.StatusMethodNotAllowed: "System.NotSupportedException",
	http.StatusNotImplemented:   "System.NotSupportedException",
}

// writeFailure writes an error. If kind is "", the type of the error is the one that kinds has for its status.
func writeFailure(w http.ResponseWriter, r *http.Request, status int, kind, text string) {
	kind = cmp.Or(kind, kinds[status], "System.InvalidOperationException")
	write(w, status, failure{URL: r.URL.RequestURI(), Type: kind, Message: text, Error: kind + ": " + text})
}

// detached returns a context for what is finished also if the client is gone. Each step has a time limit of its own.
func detached(r *http.Request) context.Context { return context.WithoutCancel(r.Context()) }
