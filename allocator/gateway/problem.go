package gateway

import (
	"cmp"
	"encoding/json"
	"net/http"

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

// fail writes an error of the library.
func fail(w http.ResponseWriter, err error) {
	name, status := sentinel.Of(err)
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	writeProblem(w, status, cmp.Or(name, "ErrUnavailable"), err.Error())
}

// refuse writes an error that is none of the library's.
func refuse(w http.ResponseWriter, status int, why string) {
	writeProblem(w, status, "about:blank", why)
}

func writeProblem(w http.ResponseWriter, status int, kind, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(problem{kind, http.StatusText(status), status, detail}) // the client may be gone
}
