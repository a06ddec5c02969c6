package gateway

import (
	"net/http"
	"strconv"
	"sync"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
)

// names bounds the names that requests make the allocator remember, which never forgets one. A collection counts once for each
// spelling, as the allocator keeps it, and an identity once for all of them.
type names struct {
	max       int
	separator string
	all       sync.Map // of strings

	mu    sync.Mutex // guards what follows, and additions to all
	count int
}

// newNames returns names with the collections that the allocator has used so far.
func newNames(ids *allocator.Allocator, opts Options) *names {
	n := &names{max: opts.MaxNames, separator: opts.Separator}
	for _, c := range ids.Stats().Collections {
		n.all.Store(c.Name, nil)
		n.count++
	}
	return n
}

// admitCollection reports whether a collection may be used.
func (n *names) admitCollection(name string) bool { return n.admit(name, name) }

// admitIdentity reports whether an identity may be used.
func (n *names) admitIdentity(name string) bool { return n.admit(name, prefix.Fold(name)+"|") }

// admit adds a name if there is space for it. An invalid one is admitted and not added, because the allocator refuses it.
func (n *names) admit(name, key string) bool {
	if _, ok := n.all.Load(key); ok || prefix.ValidateCollection(name, n.separator) != nil {
		return true
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := n.all.Load(key); ok {
		return true
	}
	if n.count >= n.max {
		return false
	}
	n.all.Store(key, nil)
	n.count++
	return true
}

// refuse writes the answer to a request for a name that is not admitted.
func (n *names) refuse(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "60")
	refuse(w, http.StatusTooManyRequests, "this gateway has served "+strconv.Itoa(n.max)+
		" names, and serves no further ones until it is restarted: check that callers use few names, or raise MaxNames (--max-names)")
}
