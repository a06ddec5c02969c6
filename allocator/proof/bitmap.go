package proof

import (
	"maps"
	"math/bits"
	"slices"
)

// bitmap is a set of numbers, 1 to math.MaxInt64, with a bit for each. Pages are allocated when needed, so that a jump of a
// counter costs nothing. A billion numbers without large gaps take 125 MB. The zero value is empty.
type bitmap struct {
	pages    map[int64]*page
	Count    int64 // different numbers
	Greatest int64
}

const (
	pageShift = 15 // n>>pageShift is the page of a number
	pageMask  = 1<<pageShift - 1
)

type page [(pageMask + 1) / 64]uint64

// add adds all numbers from low to high, and returns how many of them were there already.
func (b *bitmap) add(low, high int64) (again int64) {
	if b.pages == nil {
		b.pages = make(map[int64]*page)
	}
	for at := low >> pageShift; at <= high>>pageShift; at++ {
		p := b.pages[at]
		if p == nil {
			p = new(page)
			b.pages[at] = p
		}
		from, to := int64(0), int64(pageMask)
		if at == low>>pageShift {
			from = low & pageMask
		}
		if at == high>>pageShift {
			to = high & pageMask
		}
		again += p.add(from, to)
	}
	b.Count += high - low + 1 - again
	b.Greatest = max(b.Greatest, high)
	return again
}

func (p *page) add(from, to int64) (again int64) {
	for at := from / 64; at <= to/64; at++ {
		word := ^uint64(0)
		if at == from/64 {
			word <<= from % 64
		}
		if at == to/64 {
			word &= ^uint64(0) >> (63 - to%64)
		}
		again += int64(bits.OnesCount64(p[at] & word))
		p[at] |= word
	}
	return again
}

// Missing counts the numbers below the greatest that are not in the bitmap.
func (b *bitmap) Missing() int64 { return b.Greatest - b.Count }

// Gaps counts the gaps, each of which is a run of missing numbers, from 1 on, that ends below the greatest.
func (b *bitmap) Gaps() int64 {
	var rows int64 // of numbers that are there
	previous, last := int64(-1), uint64(0)
	for _, at := range slices.Sorted(maps.Keys(b.pages)) {
		if at != previous+1 {
			last = 0
		}
		for _, word := range b.pages[at] {
			rows += int64(bits.OnesCount64(word &^ (word<<1 | last)))
			last = word >> 63
		}
		previous = at
	}
	if first := b.pages[0]; first != nil && first[0]&2 != 0 {
		rows-- // the first row begins with 1: nothing is missing before it
	}
	return rows
}
