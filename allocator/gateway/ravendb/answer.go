package ravendb

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/hilo-id/hilo/allocator/gateway/internal/sentinel"
)

// refusalError is an error that is none of the library's.
type refusalError struct {
	status        int
	header, value string // one header, or ""
	text          string
}

func (r *refusalError) Error() string { return r.text }

var (
	errOther  = &refusalError{http.StatusNotImplemented, "", "", "only ids are served here"}
	errMethod = &refusalError{http.StatusMethodNotAllowed, "Allow", http.MethodGet, "HEAD is not supported: send GET"}
)

func tooMany(what string, max int) error {
	return &refusalError{http.StatusTooManyRequests, "Retry-After", "60", fmt.Sprintf(
		"too many names: this gateway has served %d %s, and serves no further ones until it is restarted: check that clients use few, or raise MaxNames (--max-names)", max, what)}
}

func unknownDatabase(name string) error {
	return &refusalError{http.StatusServiceUnavailable, "Database-Missing", name, fmt.Sprintf("unknown database %.64q", name)}
}

// refusalOf returns the refusal for an error.
func refusalOf(err error) *refusalError {
	if own, ok := errors.AsType[*refusalError](err); ok {
		return own
	}
	name, status := sentinel.Of(err)
	text := cmp.Or(name, "ErrUnavailable") + ": " + strings.TrimPrefix(strings.TrimPrefix(err.Error(), "allocator: "), "admin: ")
	switch status {
	case http.StatusServiceUnavailable:
		return &refusalError{status, "Retry-After", "1", text}
	case http.StatusBadRequest:
		return &refusalError{status, "", "", text}
	}
	return &refusalError{http.StatusInternalServerError, "", "", text} // clients take 409 for a conflict, and one crashes at 404
}

// answering returns a handler that writes the answer with this status, or the error.
func answering(status int, answer func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var body any
		var err error = errMethod
		if r.Method != http.MethodHead { // patterns for GET match it, and it must not issue anything
			body, err = answer(r)
		}
		if err == nil {
			write(w, status, body)
			return
		}
		refused := refusalOf(err)
		if refused.header != "" {
			w.Header().Set(refused.header, refused.value)
		}
		Refuse(w, r, refused.status, refused.text)
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

// kinds are the types of errors by their status. Others are System.InvalidOperationException.
var kinds = map[int]string{
	http.StatusBadRequest:       "System.ArgumentException",
	http.StatusForbidden:        "Raven.Client.Exceptions.Security.AuthorizationException",
	http.StatusMethodNotAllowed: "System.NotSupportedException",
	http.StatusNotImplemented:   "System.NotSupportedException",
}

// Refuse writes an error in the form of RavenDB's. A gateway calls it for a request that it does not pass to a Handler.
func Refuse(w http.ResponseWriter, r *http.Request, status int, why string) {
	kind := cmp.Or(kinds[status], "System.InvalidOperationException")
	if w.Header().Get("Database-Missing") != "" {
		kind = "Error"
	}
	write(w, status, struct {
		URL                  string `json:"Url"`
		Type, Message, Error string
	}{r.URL.RequestURI(), kind, why, kind + ": " + why})
}
