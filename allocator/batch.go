package allocator

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/hilo-id/hilo/allocator/internal/decimal"
	"github.com/hilo-id/hilo/allocator/internal/failure"
	"github.com/hilo-id/hilo/prefix"
)

// Range is consecutive numbers, both ends included.
type Range struct{ Low, High int64 }

// Batch is consecutive identifiers that belong to the caller alone. Unused ones are a gap unless Return takes them back.
type Batch struct {
	span *span
	c    *Collection
	low  int64
	n    int64
}

// Range returns the numbers of the batch, 0..0 for the zero Batch.
func (b Batch) Range() Range {
	if b.n == 0 {
		return Range{}
	}
	return Range{Low: b.low, High: b.end()}
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
			if !yield(b.span.id(b.c.name, b.low+i)) {
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

// Follows reports whether b begins the range that the server issued right after the one that before ends, and nothing was written
// to the counter in between: no range of another client, no return and no seed.
func (b Batch) Follows(before Batch) bool {
	if b.n == 0 || before.n == 0 {
		return false
	}
	own, other := b.span, before.span
	return own.from.Server == other.from.Server && own.before == other.written &&
		b.low == own.low() && before.end() == other.high() && own.low() == other.high()+1
}

// Return gives the numbers after last back to the server, so that they are issued again, and reports whether it took them. last is
// the last number that was used, or the one before the batch. Call it once, and use no number after last.
//
// The server takes numbers back only from the end of the newest range of a collection. If the batch does not end its range, or the
// counter was written since, or a refill is in flight, the numbers are a gap. Stats count all numbers of the batch as issued.
//
// Return waits for the server, at most [Options.RefillTimeout], and calls that need a new range wait for it. It returns
// ErrInvalidOptions for another last, ErrClosed, ErrCorrupt, and ErrUnavailable if it is unknown whether the numbers were taken.
func (b Batch) Return(ctx context.Context, last int64) (bool, error) {
	if b.n == 0 || last < b.low-1 || last > b.end() {
		return false, fmt.Errorf("allocator: %w: Return after %d: must be %d to %d", failure.ErrInvalidOptions, last, b.low-1, b.end())
	}
	if last == b.end() || b.end() != b.span.high() {
		return false, nil
	}
	ok, err := b.c.giveBack(ctx, b.span, last)
	if err != nil {
		return false, fmt.Errorf("allocator: %w", err)
	}
	return ok, nil
}

// end returns the last number of the batch.
func (b Batch) end() int64 { return b.low + b.n - 1 }

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
