package allocator

import (
	"sync/atomic"

	"github.com/hilo-id/hilo/allocator/internal/decimal"
	"github.com/hilo-id/hilo/allocator/internal/fleet"
	"github.com/hilo-id/hilo/prefix"
)

// span is one range in hand, the immutable reply of Redis with the cursor that counts through it. Number, prefix, tag and
// lease are one value, so a number is never combined with another range's prefix.
//
// The cursor alone makes issuing safe. Add returns a different index to each caller, and an index up to size is a number of
// this range. The cursor only grows, except for seal, which sets it to size to end the range. So no index up to size is
// issued twice, nor after a seal. The cursor does not wrap, since at a nanosecond each that would take 292 years.
type span struct {
	// taken is the cursor, the last index issued, 1 to size, or past the end.
	taken atomic.Int64

	// These are seldom used, and keep what follows them off the cursor's cache line, to which every caller writes. token is the
	// lease, written is the time of the range, and before is the time of the write that preceded it.
	size    int64
	from    *fleet.Issuer
	token   string
	epoch   int64
	written int64
	before  int64

	// mark is the index at which a caller checks whether to fetch ahead, at most size+1.
	mark atomic.Int64
	// base is the number before the range, so that index i is number base+i.
	base int64
	// head is collection, separator and server prefix. tail is "-" and the node tag, or "".
	head, tail string
}

// none is an empty range in place of a nil one. Every index is past its end, which spares the hot path a comparison.
var none = new(span)

// carve takes n consecutive indexes, the last of which is returned.
func (s *span) carve(n int64) (int64, bool) {
	for {
		used := s.taken.Load()
		if n > s.size-used { // also when used is past the end
			return 0, false
		}
		if s.taken.CompareAndSwap(used, used+n) {
			return used + n, true
		}
	}
}

// used returns the number of indexes issued.
func (s *span) used() int64 { return min(s.taken.Load(), s.size) }

func (s *span) left() int64 { return s.size - s.used() }

// seal ends the range and returns the number of indexes issued. Every caller that received one did so before, and every
// later one finds the end.
func (s *span) seal() int64 { return min(s.taken.Swap(s.size), s.size) }

// lookAfter sets the mark to the n-th index from now, or past the end. It reports false if that index was issued meanwhile,
// so that no caller will reach the mark.
func (s *span) lookAfter(n int64) bool {
	mark := min(s.used()+n, s.size+1)
	s.mark.Store(mark)
	return mark > s.size || s.taken.Load() < mark
}

func (s *span) low() int64  { return s.base + 1 }
func (s *span) high() int64 { return s.base + s.size }

// text builds the identifier with the only allocation of the hot path. A concatenation takes half as much time again.
func (s *span) text(number int64) string {
	var buf [64]byte
	if len(s.head)+decimal.Longest+len(s.tail) > len(buf) {
		return s.head + string(decimal.Append(buf[:0], number)) + s.tail
	}
	return string(s.appendText(buf[:0], number))
}

func (s *span) appendText(dst []byte, number int64) []byte {
	dst = append(dst, s.head...)
	dst = decimal.Append(dst, number)
	return append(dst, s.tail...)
}

func (s *span) id(collection string, number int64) prefix.ID {
	return prefix.ID{
		Collection:   collection,
		ServerPrefix: s.from.Desc.ServerPrefix,
		Number:       number,
		NodeTag:      s.from.Desc.NodeTag,
	}
}
