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
func (b Batch) Strings() []string {
	if b.n == 0 {
		return nil
	}
	var buf [640]byte
	var ends [10]bounds
	longest := b.span.appendText(buf[:0], b.low+b.n-1)
	var text strings.Builder
	text.Grow(int(b.n) * len(longest))
	ids := make([]string, b.n)
	next := texts{all: buf[:0], each: ends[:0]}
	for i := int64(0); i < b.n; {
		if !next.advance() {
			next = next.of(b.span, b.low+i, b.n-i)
		}
		i += next.write(&text, ids[i:])
	}
	return ids
}

// texts is up to ten consecutive identifiers, one after the other. Those of the next ten numbers have the same last
// digits, so adding ten to each number in place makes them.
//
// They are copied together, because copying a text right after one of its digits was written stalls the processor for 4 ns.
type texts struct {
	all  []byte
	each []bounds
}

// bounds are the offsets in all of a text's number, of that number's last digit, and of the text's end.
type bounds struct{ number, last, end int }

// of returns the texts of low and the numbers after it, at most n, in the memory of t.
func (t texts) of(s *span, low, n int64) texts {
	t.all, t.each = t.all[:0], t.each[:0]
	for i := range min(n, 10) {
		number := len(t.all) + len(s.head)
		t.all = s.appendText(t.all, low+i)
		t.each = append(t.each, bounds{number, len(t.all) - len(s.tail) - 1, len(t.all)})
	}
	return t
}

// advance adds ten to each number. It reports false if there is none yet, or one needs another digit.
func (t texts) advance() bool {
	for _, b := range t.each {
		if !decimal.Increment(t.all[b.number:b.last]) {
			return false
		}
	}
	return len(t.each) > 0
}

// write appends the texts to dst and fills ids as far as there is room.
func (t texts) write(dst *strings.Builder, ids []string) int64 {
	n := min(len(ids), len(t.each))
	written := dst.Len()
	dst.Write(t.all[:t.each[n-1].end])
	text, begin := dst.String()[written:], 0
	for i, b := range t.each[:n] {
		ids[i], begin = text[begin:b.end], b.end
	}
	return int64(n)
}
