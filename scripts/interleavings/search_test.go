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
	kind    kind // of counter, hilo by default
	clients int8
	verbs   int // bits, 0 means all
	depth   int
	begin   []step // taken before
}

// only returns the bits of some verbs.
func only(verbs ...verb) (bits int) {
	for _, v := range verbs {
		bits |= 1 << v
	}
	return bits
}

// walk is the result of a search.
type walk struct {
	states, steps int
	interleavings float64 // sequences of steps, each up to the first that ends in a world that was walked before
	found         []step  // the shortest that issues a number twice
}

func (w walk) String() string {
	return fmt.Sprintf("%d states, %d steps, %.3g interleavings", w.states, w.steps, w.interleavings)
}

// search walks all interleavings of a scope, breadth first, and ends at the first number that is issued twice. It does not walk a
// world again.
func search(m *model, s scope) (seen walk) {
	type place struct { // in the tree of how each world was reached
		from int32
		step step
	}
	type spot struct {
		world world
		place int32
		ways  float64
	}
	seeds := [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	tree := []place{{none, step{}}}
	w := newWorld()
	for _, st := range s.begin {
		if o := m.take(&w, st); !o.possible || o.twice != 0 {
			panic(fmt.Sprintf("bug: it cannot begin with %+v", st))
		}
	}
	frontier := []spot{{w, 0, 1}}
	known := map[[2]uint64]struct{}{}
	for depth := 1; depth <= s.depth && len(frontier) > 0; depth++ {
		var next []spot
		at := map[[2]uint64]int{} // in next
		for i := range frontier {
			f := &frontier[i]
			for _, st := range steps(s, &f.world) {
				w := f.world
				o := m.take(&w, st)
				if !o.possible {
					continue
				}
				seen.steps++
				seen.interleavings += f.ways
				if o.twice != 0 {
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
				if i, ok := at[hash]; ok {
					next[i].ways += f.ways
				} else if _, ok := known[hash]; !ok {
					known[hash] = struct{}{}
					at[hash] = len(next)
					tree = append(tree, place{f.place, st})
					next = append(next, spot{w, int32(len(tree) - 1), f.ways})
					seen.states++
				}
			}
		}
		frontier = next
	}
	return seen
}

// describe takes the steps of a sequence. It returns their description and the number that was issued twice, or 0.
func describe(m *model, sequence []step) (words string, twice int32) {
	var lines []string
	m.log = func(format string, args ...any) {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf(format, args...)))
	}
	defer func() { m.log = nil }()
	w := newWorld()
	for _, s := range sequence {
		o := m.take(&w, s)
		if o.twice != 0 {
			lines = append(lines, fmt.Sprintf("%d is given twice", o.twice))
			twice = o.twice
		}
	}
	return "\n\t" + strings.Join(lines, "\n\t"), twice
}
