package allocator

import (
	"iter"
	"strings"

	"github.com/hilo-id/hilo/allocator/internal/decimal"
	"github.com/hilo-id/hilo/prefix"
)

// Range is consecutive numbers, both ends included.
type Range struct{ Low, High int64 }

// Batch is consecutive identifiers that belong to the caller alone. Unused ones cannot be returned and are a gap.
type Batch struct {
	span *span
	name string
	low  int64
	n    int64
}

// Range returns the numbers of the batch, 0..0 for the zero Batch.
func (b Batch) Range() Range {
	if b.n == 0 {
		return Range{}
	}
	return Range{Low: b.low, High: b.low + b.n - 1}
}

// Len returns the number of identifiers.
func (b Batch) Len() int64 { return b.n }

// All yields each identifier as text, in order.
func (b Batch) All() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range b.n {
			if !yield(b.span.text(b.low + i)) {
				return
			}
		}
	}
}

// IDs yields each identifier in its parts, in order.
func (b Batch) IDs() iter.Seq[prefix.ID] {
	return func(yield func(prefix.ID) bool) {
		for i := range b.n {
			if !yield(b.span.id(b.name, b.low+i)) {
				return
			}
		}
	}
}

// Strings returns all identifiers as texts, which share one allocation.
//
// It makes ten texts at a time. Those of the next ten numbers have the same last digits, so adding ten to each number in place
// makes them. They are copied together, because copying a text right after one of its digits was written stalls the processor
// for 4 ns.
func (b Batch) Strings() []string {
	if b.n == 0 {
		return nil
	}
	var buf [640]byte
	var offsets [10]bounds
	ten, each := b.span.appendText(buf[:0], b.low+b.n-1), offsets[:0]
	var all strings.Builder
	all.Grow(int(b.n) * len(ten))
	ids := make([]string, b.n)
	for i := 0; i < len(ids); i += len(each) {
		if each = each[:min(len(each), len(ids)-i)]; !addTen(ten, each) {
			ten, each = ten[:0], offsets[:min(len(offsets), len(ids)-i)]
			for j := range each {
				number := len(ten) + len(b.span.head)
				ten = b.span.appendText(ten, b.low+int64(i+j))
				each[j] = bounds{number, len(ten) - len(b.span.tail) - 1, len(ten)}
			}
		}
		all.Write(ten[:each[len(each)-1].end])
		text, begin := all.String()[all.Len()-each[len(each)-1].end:], 0
		for j, t := range each {
			ids[i+j], begin = text[begin:t.end], t.end
		}
	}
	return ids
}

// bounds are the offsets of a text's number, of that number's last digit, and of the text's end.
type bounds struct{ number, last, end int }

// addTen adds ten to the number of each text. It reports false if there is none yet, or one needs another digit.
func addTen(texts []byte, each []bounds) bool {
	for _, b := range each {
		if !decimal.Increment(texts[b.number:b.last]) {
			return false
		}
	}
	return len(each) > 0
}
