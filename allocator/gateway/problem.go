package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/gateway/internal/sentinel"
)

// problem is an error in the form of RFC 9457. Its type is the name of the library's error, or about:blank if the status
// is enough.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

var statuses = map[string]int{
	"ErrInvalidName":         http.StatusBadRequest,
	"ErrInvalidOptions":      http.StatusBadRequest,
	"ErrMixed":               http.StatusConflict,
	"ErrExhausted":           http.StatusUnprocessableEntity,
	"ErrNotSeeded":           http.StatusUnprocessableEntity,
	"ErrIdentitiesElsewhere": http.StatusUnprocessableEntity,
	"ErrCorrupt":             http.StatusInternalServerError,
	"ErrUnguarded":           http.StatusInternalServerError,
	"ErrPrefixConflict":      http.StatusInternalServerError,
	"ErrPrefixMissing":       http.StatusInternalServerError,
}

// statusOf returns the status for an error of the library. An error without a status of its own is temporary: 503.
func statusOf(err error) int {
	if status, ok := statuses[sentinel.Name(err)]; ok {
		return status
	}
	return http.StatusServiceUnavailable
}

// fail writes an error of the library.
func fail(w http.ResponseWriter, err error) {
	kind, status := sentinel.Name(err), statusOf(err)
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	if kind == "" {
		kind = "ErrUnavailable"
	}
	writeProblem(w, problem{Type: kind, Title: http.StatusText(status), Status: status, Detail: err.Error()})
}

// refuse writes an error that is none of the library's.
func refuse(w http.ResponseWriter, status int, why string) {
	writeProblem(w, problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: why})
}

func writeProblem(w http.ResponseWriter, p problem) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // a client that is gone is told nothing
}

// invalid returns an error about an argument.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{allocator.ErrInvalidOptions}, args...)...)
}

// gone reports whether the client has disconnected, so that no answer is written.
func gone(ctx context.Context, err error) bool {
	return errors.Is(err, context.Canceled) && ctx.Err() != nil
}
