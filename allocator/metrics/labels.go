package metrics

import (
	"cmp"
	"maps"
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

// labels decides which collections have series of their own. Once given a label is kept, since what was counted must not go down.
type labels struct {
	most int

	mu  sync.Mutex // guards own
	own map[string]bool
}

// learn gives labels to collections that have none yet, the busiest first.
func (l *labels) learn(all []allocator.Stats) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.own) == l.most {
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
	names := slices.SortedFunc(maps.Keys(issued), func(x, y string) int {
		return cmp.Or(cmp.Compare(issued[y], issued[x]), cmp.Compare(x, y))
	})
	for _, name := range names[:min(len(names), l.most-len(l.own))] {
		l.own[name] = true
	}
}

// of returns the label of a collection: its name in lower case, since all spellings share a counter.
func (l *labels) of(collection string) string {
	name := prefix.Fold(collection)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.own[name] {
		return name
	}
	return other
}

func serverLabel(name string) string { return valid(cmp.Or(name, unnamed)) }

// valid returns text without bytes that a label may not have.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
