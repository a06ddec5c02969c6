package ravendb

import (
	"net/http"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestHandlerBoundsNames(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s, func(o *Options) { o.MaxNames = 2 })
		w.next("tag=orders")
		w.answers(http.MethodPost, "/databases/Shop/identity/next?name=companies", http.StatusOK, `{"NewIdentityValue":1}`)
		keys := w.client.DBSize(t.Context()).Val()
		for _, request := range []string{"GET hilo/next?tag=users", "POST identity/next?name=people", "POST identity/seed?name=people&value=7"} {
			method, target, _ := strings.Cut(request, " ")
			response := w.send(method, "/databases/Shop/"+target)
			text := body(t, response)
			if response.StatusCode != http.StatusTooManyRequests || response.Header.Get("Retry-After") == "" ||
				!strings.HasPrefix(text, `{"Url":"/databases/Shop/`) || !strings.Contains(text, `"Type":"System.InvalidOperationException","Message":"too many names: `) {
				t.Errorf("%s: got %d %v %s, want 429 with Retry-After and an error of RavenDB's form", request, response.StatusCode, response.Header, text)
			}
		}
		if got := w.client.DBSize(t.Context()).Val(); got != keys {
			t.Errorf("got %d keys, want %d as before the refused requests", got, keys)
		}
		w.next("tag=ORDERS")
		w.answers(http.MethodPost, "/databases/Shop/identity/next?name=Companies", http.StatusOK, `{"NewIdentityValue":2}`)
		w.answers(http.MethodPut, "/databases/Shop/hilo/return?tag=users&end=32&last=1", http.StatusNoContent, "")
	})
}
