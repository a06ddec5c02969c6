package gateway_test

import (
	"net/http"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// RavenDB's clients take 409 for a conflict of documents, and one of them crashes at 404.
func TestPathsOfRavenDBAreNeverAnsweredWith404Or409(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		d := open(t, s)
		d.set("{Raven}/HiLo/broken", "Max", "x")
		for _, target := range []string{
			"/topology", "/topology?name=Shop", "/topology?name=Mall", "/cluster/node-info", "/cluster/topology", "/info/tcp", "/build/version",
			"/databases", "/databases/", "/databases/Shop", "/databases/Shop/", "/databases/Shop//hilo/next?tag=users", "/databases/Shop/docs?id=users/1-A",
			"/databases/Shop/hilo/next", "/databases/Shop/hilo/next?tag=users", "/databases/Shop/hilo/next?tag=broken", "/databases/Mall/hilo/next?tag=users",
			"/databases/Shop/hilo/return?tag=users&end=1&last=1", "/databases/Shop/hilo/return?tag=none&end=1&last=1", "/databases/Shop/hilo/none",
			"/databases/Shop/identity/next?name=companies", "/databases/Shop/identity/seed?name=companies&value=1", "/databases/Shop/identity/none",
			"/databases/Shop/debug/identities", "/databases/Shop/stats", "/databases/Shop/healthcheck", "/databases/Shop/bulk_docs", "/databases/Shop/changes",
			"/databases/%7B/hilo/next?tag=users", "/databases/a%2Fb/hilo/next?tag=users", "/admin/databases?name=Shop", "/studio/index.html",
		} {
			for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions} {
				if a := d.send(method, target); a.status == http.StatusNotFound || a.status == http.StatusConflict {
					t.Errorf("%s %s: got %d %s, want neither 404 nor 409", method, target, a.status, a.body)
				}
			}
		}
	})
}
