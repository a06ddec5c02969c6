package interleavings

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
)

// scope is one small case, with its clients and what may happen.
type scope struct {
	name    string
	clients int8
	events  []event
	depth   int
	begin   []step // taken before
	setting setting
}

// walk is the result of a search.
type walk struct {
	states, steps int
	found         []step // the shortest that issues a text twice
	stopped       int    // which of the first steps is impossible, or 0
}

func (w walk) String() string { return fmt.Sprintf("%d states, %d steps", w.states, w.steps) }

// search walks all interleavings of a scope, breadth first, and ends at the first text that is issued twice. It does not walk a
// world again.
func search(m *model, s scope) (seen walk) {
	type place struct { // in the tree of how each world was reached
		from int32
		step step
	}
	type spot struct {
		world world
		place int32
	}
	seeds := [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	tree := []place{{from: none}}
	w := m.newWorld()
	for i, st := range s.begin {
		if o := m.apply(&w, st); !o.possible || o.twice != "" {
			return walk{stopped: i + 1}
		}
	}
	frontier := []spot{{w, 0}}
	known := map[[2]uint64]struct{}{}
	all := steps(s)
	for depth := 1; depth <= s.depth && len(frontier) > 0; depth++ {
		var next []spot
		for i := range frontier {
			f := &frontier[i]
			for _, st := range all {
				w := f.world
				o := m.apply(&w, st)
				if !o.possible {
					continue
				}
				seen.steps++
				if o.twice != "" {
					found := []step{st}
					for p := f.place; tree[p].from != none; p = tree[p].from {
						found = append(found, tree[p].step)
					}
					slices.Reverse(found)
					seen.found = append(slices.Clone(s.begin), found...)
					return seen
				}
				if depth == s.depth {
					continue
				}
				hash := [2]uint64{maphash.Comparable(seeds[0], w), maphash.Comparable(seeds[1], w)}
				if _, ok := known[hash]; !ok {
					known[hash] = struct{}{}
					tree = append(tree, place{f.place, st})
					next = append(next, spot{w, int32(len(tree) - 1)})
					seen.states++
				}
			}
		}
		frontier = next
	}
	return seen
}

// describe takes the steps of a sequence. It returns their description and the text that was issued twice, or "".
func describe(m *model, sequence []step) (words, twice string) {
	var lines []string
	w := m.newWorld()
	for _, s := range sequence {
		before := w
		var of []string
		m.log = func(format string, args ...any) { of = append(of, fmt.Sprintf(format, args...)) }
		o := m.apply(&w, s)
		m.log = nil
		if !o.possible {
			w = before
			of = append(of, "  which is refused")
		}
		lines = append(lines, of...)
		if o.twice != "" {
			lines = append(lines, o.twice+" is issued twice")
			twice = o.twice
		}
	}
	return "\n\t" + strings.Join(lines, "\n\t"), twice
}
