package gateway

import (
	"net/http"
	"sync"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/allocator/gateway/access"
	"github.com/hilo-id/hilo/allocator/gateway/ravendb"
	"github.com/hilo-id/hilo/allocator/internal/fleet"
	"github.com/hilo-id/hilo/prefix"
)

// gateway is the handler that New returns.
type gateway struct {
	ids      *allocator.Allocator
	opts     Options
	mux      *http.ServeMux
	admins   []master
	names    *names
	signIn   access.SignIn
	measured *measured
	raven    *ravendb.Handler // or nil
	buffers  sync.Pool        // *[]byte, for answers
	health   *health

	crossOrigin http.CrossOriginProtection
}

// master is one master and the access to its counters.
type master struct {
	name string
	keys prefix.Keys
	gate *fleet.Gate // of the requests of Admin
	*admin.Admin
}
