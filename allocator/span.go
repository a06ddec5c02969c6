package allocator

import (
	"sync/atomic"

	"github.com/hilo-id/hilo/allocator/internal/decimal"
	"github.com/hilo-id/hilo/prefix"
)

// span is one range in hand: Redis's answer, immutable, and the cursor that counts through it. Number, prefix, tag and
// lease live and die together, so a number is never paired with another range's prefix.
//
// The cursor is the whole safety of handing out. Add gives each caller another index, and an index up to size is a
// number of this range. The cursor only grows, but for seal, which puts it to size to end the range; so no index up to
// size is given twice, nor after a seal. It does not wrap: at a nanosecond each that would take 292 years.
type span struct {
	// taken is the cursor: the last index handed out, 1 to size, or past the end.
	taken atomic.Int64

	// These are seldom used, and keep what follows them off the cursor's cache line, which every caller writes to: tail
	// is "-" and the node tag, or nothing; token the lease; written when it was taken.
	tail    string
	from    *source
	token   string
	epoch   int64
	written int64

	// mark is the index whose taker looks whether to fetch ahead, at most size+1.
	mark atomic.Int64
	size int64
	// base is the number before the range: index i is number base+i.
	base int64
	// head is collection, separator and server prefix.
	head string
	// before is when the counter was last written before that.
	before int64
}

// none is an empty range, in place of a nil one: every index is past its end. It spares the hot path a comparison, and
// all that the compiler makes of it.
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

// used is how many indexes were handed out.
func (s *span) used() int64 { return min(s.taken.Load(), s.size) }

func (s *span) left() int64 { return s.size - s.used() }

// seal ends the range and tells how many indexes were handed out: every caller that got one did so before, every later
// one finds the end.
func (s *span) seal() int64 { return min(s.taken.Swap(s.size), s.size) }

// lookAfter has the taker of the n-th index from now look whether to fetch ahead; past the end nobody needs to. It
// reports false when that index was taken meanwhile, so that nobody will.
func (s *span) lookAfter(n int64) bool {
	mark := min(s.used()+n, s.size+1)
	s.mark.Store(mark)
	return mark > s.size || s.taken.Load() < mark
}

func (s *span) low() int64  { return s.base + 1 }
func (s *span) high() int64 { return s.base + s.size }

// text builds the identifier with the only allocation of the hot path. A concatenation would do the same in half as
// much time again.
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
		ServerPrefix: s.from.ServerPrefix,
		Number:       number,
		NodeTag:      s.from.NodeTag,
	}
}
