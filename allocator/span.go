package allocator

import (
	"sync/atomic"

	"github.com/hilo-id/hilo/prefix"
)

// span is one range in hand: Redis's answer, immutable, and the cursor that
// counts through it. Number, prefix, tag and lease live and die together, so a
// number is never paired with another range's prefix.
//
// The cursor is the whole safety of handing out. Add gives each caller another
// index, and an index up to size is a number of this range. The cursor only
// grows, but for park and seal, which put it to size when it is past it or to
// end the range; so no index up to size is given twice, nor after a seal.
type span struct {
	taken atomic.Int64 // cursor: the last index handed out, 1..size, or past the end

	// These are seldom used and keep what follows them off the cursor's cache line, which every caller writes to.
	tail  string // "-" and the node tag, or nothing
	from  *source
	token string // lease
	epoch int64
	order int64 // how many ranges of the counter were given with it

	mark  atomic.Int64 // the index whose taker looks whether to fetch ahead, at most size+1
	size  int64
	base  int64  // index i is number base+i
	head  string // collection, separator, server prefix
	after string // the lease it followed, if nothing came in between
}

// none stands for no range: every index is past its end. In place of nil it
// spares the hot path a comparison, and all that the compiler makes of it.
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

// park brings a cursor that ran past its end back to it, so that it never
// wraps, however often an empty range is asked. Only for a range that is empty.
func (s *span) park() { s.taken.Store(s.size) }

// seal ends the range and tells how many indexes were handed out: every caller
// that got one did so before, every later one finds the end.
func (s *span) seal() int64 { return min(s.taken.Swap(s.size), s.size) }

// lookAfter has the taker of the n-th index from now look whether to fetch
// ahead; past the end nobody needs to. It reports false when that index was
// taken meanwhile, so that nobody will.
func (s *span) lookAfter(n int64) bool {
	mark := min(s.used()+n, s.size+1)
	s.mark.Store(mark)
	return mark > s.size || s.taken.Load() < mark
}

func (s *span) low() int64  { return s.base + 1 }
func (s *span) high() int64 { return s.base + s.size }

// text builds the identifier with the only allocation of the hot path. A
// concatenation would do the same in half as much time again.
func (s *span) text(number int64) string {
	var buf [64]byte
	if len(s.head)+longestNumber+len(s.tail) > len(buf) {
		return s.head + string(appendNumber(buf[:0], number)) + s.tail
	}
	return string(s.appendText(buf[:0], number))
}

func (s *span) appendText(dst []byte, number int64) []byte {
	dst = append(dst, s.head...)
	dst = appendNumber(dst, number)
	return append(dst, s.tail...)
}

// source is where ranges come from: a server, and what it added then. Ranges
// alike share one.
type source struct {
	server *server
	prefix.Server
}

func (s *span) id(collection string, number int64) prefix.ID {
	return prefix.ID{
		Collection:   collection,
		ServerPrefix: s.from.ServerPrefix,
		Number:       number,
		NodeTag:      s.from.NodeTag,
	}
}
