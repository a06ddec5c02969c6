// Package respond writes the JSON of a gateway's answers.
package respond

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/hilo-id/hilo/allocator/gateway/internal/form"
)

// Format is the form of the answers of one half of a gateway.
type Format struct {
	// Type is the content type of an answer that is no error.
	Type string
	// Timeout bounds each request.
	Timeout time.Duration
	// Fail writes an error.
	Fail func(http.ResponseWriter, *http.Request, error)
}

// Handler returns a handler that writes what answer returns, with this status, or its error. Any request but GET is finished also if
// its client is gone.
func (f Format) Handler(status int, answer func(context.Context, *form.Query) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		if r.Method != http.MethodGet {
			ctx = context.WithoutCancel(ctx)
		}
		ctx, cancel := context.WithTimeout(ctx, f.Timeout)
		defer cancel()
		body, err := answer(ctx, form.Parse(r))
		if err != nil {
			f.Fail(w, r, err)
			return
		}
		Write(w, f.Type, status, body)
	}
}

// Write writes an answer, which no cache keeps. One with the status 204 has no body.
func Write(w http.ResponseWriter, contentType string, status int, body any) {
	w.Header().Set("Cache-Control", "no-store")
	if status == http.StatusNoContent {
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}
