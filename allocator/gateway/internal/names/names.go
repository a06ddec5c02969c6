// Package names bounds the names that requests make a gateway remember: neither an allocator nor Redis ever forgets one.
package names

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/hilo-id/hilo/allocator/gateway/internal/sentinel"
)

// Map has a value for each name that was admitted. It is safe for concurrent use.
type Map[T any] struct {
	what string
	max  int

	mu     sync.Mutex // guards what follows
	all    map[string]T
	closed error
}

// New returns a map of at most max names. what is their kind, for the refusal of a further one.
func New[T any](what string, max int) *Map[T] {
	return &Map[T]{what: what, max: max, all: make(map[string]T)}
}

// Get returns the value of a name, or false if it was not admitted.
func (m *Map[T]) Get(key string) (T, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	value, ok := m.all[key]
	return value, ok
}

// Admit returns the value of a name, which is this one for a new name. If there is no space for it, the error is a refusal with 429.
func (m *Map[T]) Admit(key string, value T) (T, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, ok := m.all[key]; ok {
		return known, nil
	}
	if m.closed != nil {
		return value, m.closed
	}
	if len(m.all) >= m.max {
		return value, &sentinel.RefusalError{Status: http.StatusTooManyRequests, Header: "Retry-After", Value: "60", Text: fmt.Sprintf(
			"too many names: this gateway has served %d %s, and serves no further ones until it is restarted: check that callers use few, or raise MaxNames (--max-names)",
			m.max, m.what)}
	}
	m.all[key] = value
	return value, nil
}

// Values returns the values of all names.
func (m *Map[T]) Values() []T {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Values(m.all))
}

// Close is Values, after which a further name is refused with err.
func (m *Map[T]) Close(err error) []T {
	m.mu.Lock()
	m.closed = err
	m.mu.Unlock()
	return m.Values()
}
