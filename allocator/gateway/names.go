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

	mu  sync.Mutex      // guards what follows
	all map[string]bool // those that may be used, an identity folded and with a bar
}

// newNames returns names with the collections that the allocator has used so far.
func newNames(ids *allocator.Allocator, opts Options) *names {
	n := &names{max: opts.MaxNames, separator: opts.Separator, all: make(map[string]bool)}
	for _, c := range ids.Stats().Collections {
		n.all[c.Name] = true
	}
	return n
}

// admit reports whether a name may be used, and adds it if there is space for it. An invalid one is admitted and not added, because
// the allocator refuses it.
func (n *names) admit(name, key string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.all[key] || prefix.ValidateCollection(name, n.separator) != nil {
		return true
	}
	if len(n.all) >= n.max {
		return false
	}
	n.all[key] = true
	return true
}

// refuse writes the answer to a request for a name that is not admitted.
func (n *names) refuse(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "60")
	refuse(w, http.StatusTooManyRequests, "this gateway has served "+strconv.Itoa(n.max)+
		" names, and serves no further ones until it is restarted: check that callers use few names, or raise MaxNames (--max-names)")
}
