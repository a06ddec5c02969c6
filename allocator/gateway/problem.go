package gateway

import (
	"cmp"
	"net/http"

	"github.com/hilo-id/hilo/allocator/gateway/internal/respond"
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

// fail writes an error.
func fail(w http.ResponseWriter, err error) {
	name, refusal := sentinel.Of(err)
	refusal.SetHeader(w.Header())
	writeProblem(w, refusal.Status, cmp.Or(name, "about:blank"), refusal.Text)
}

// refuse writes an error that is none of the library's.
func refuse(w http.ResponseWriter, status int, why string) {
	writeProblem(w, status, "about:blank", why)
}

func writeProblem(w http.ResponseWriter, status int, kind, detail string) {
	respond.Write(w, "application/problem+json", status, problem{kind, http.StatusText(status), status, detail})
}
