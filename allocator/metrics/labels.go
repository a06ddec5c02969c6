package metrics

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
)

const (
	// other is the label of all collections beyond the bound.
	other = "other"
	// unnamed is the label of the server of allocator.New, which has no name.
	unnamed = "redis"
)

// labels decides which collections have series of their own. Once given a label
// is kept, since what was counted must not go down.
type labels struct {
	most int

	mu   sync.Mutex // guards own
	own  map[string]bool
	full bool // all are given, guarded by mu
}

// learn gives labels to collections that have none yet, the busiest first.
func (l *labels) learn(all []allocator.Stats) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.full {
		return
	}
	issued := make(map[string]int64)
	for _, s := range all {
		for _, c := range s.Collections {
			if name := prefix.Fold(c.Name); !l.own[name] {
				issued[name] += c.Issued
			}
		}
	}
	names := make([]string, 0, len(issued))
	for name := range issued {
		names = append(names, name)
	}
	slices.SortFunc(names, func(x, y string) int {
		return cmp.Or(cmp.Compare(issued[y], issued[x]), cmp.Compare(x, y))
	})
	if l.own == nil {
		l.own = make(map[string]bool)
	}
	for _, name := range names[:min(len(names), l.most-len(l.own))] {
		l.own[name] = true
	}
	l.full = len(l.own) == l.most
}

// of returns the label of a collection: its name in lower case, since all spellings
// share a counter.
func (l *labels) of(collection string) string {
	name := prefix.Fold(collection)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.own[name] {
		return name
	}
	return other
}

func serverLabel(name string) string {
	if name == "" {
		return unnamed
	}
	return valid(name)
}

// valid returns text without bytes that a label may not have.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
