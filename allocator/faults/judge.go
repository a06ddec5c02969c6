package faults

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Claim is numbers that somebody used: Low..High, both inclusive.
type Claim struct {
	Space     string // what makes the numbers identifiers: collection and prefix
	Low, High int64
	By        string // who used them
}

// Judge finds numbers that were used twice. The zero value is ready.
type Judge struct {
	claims []Claim
	used   int64
}

// Add enters what somebody used.
func (j *Judge) Add(claims ...Claim) {
	j.claims = append(j.claims, claims...)
	for _, c := range claims {
		j.used += c.High - c.Low + 1
	}
}

// Used is how many numbers were entered, each use counted.
func (j *Judge) Used() int64 { return j.used }

// Verdict is what a Judge found.
type Verdict struct {
	Twice    int64      // uses of numbers that had been used before
	Examples [][2]Claim // the first of the claims that overlap
}

func (v Verdict) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%d used twice", v.Twice)
	for _, pair := range v.Examples {
		a, b := pair[0], pair[1]
		fmt.Fprintf(&text, "\n%s: %d..%d by %s, %d..%d by %s", a.Space, a.Low, a.High, a.By, b.Low, b.High, b.By)
	}
	return text.String()
}

// Verdict goes through all claims in the order of their numbers: each that begins before the end of one that came earlier
// overlaps it.
func (j *Judge) Verdict() Verdict {
	const examples = 5
	slices.SortFunc(j.claims, func(a, b Claim) int {
		return cmp.Or(cmp.Compare(a.Space, b.Space), cmp.Compare(a.Low, b.Low), cmp.Compare(a.High, b.High))
	})
	var v Verdict
	var furthest Claim // of those before, in the same space
	for i, c := range j.claims {
		if i == 0 || c.Space != furthest.Space {
			furthest = c
			continue
		}
		if c.Low <= furthest.High {
			v.Twice += min(c.High, furthest.High) - c.Low + 1
			if len(v.Examples) < examples {
				v.Examples = append(v.Examples, [2]Claim{furthest, c})
			}
		}
		if c.High > furthest.High {
			furthest = c
		}
	}
	return v
}
