package allocator

import (
	"strings"

	"github.com/hilo-id/hilo/allocator/internal/decimal"
)

// texts is up to ten consecutive identifiers, one after the other. Those of the next ten numbers differ in any digit
// but the last, whatever the first one is.
//
// They are copied at once: a text that is copied right after one of its digits was written has the processor wait for
// that digit, 4 ns each time.
type texts struct {
	all  []byte
	each []bounds
}

// bounds are where in all a text has its number, that number's last digit, and its end.
type bounds struct{ number, last, end int }

// of is the texts of low and the numbers after it, n at most, in the memory of t.
func (t texts) of(s *span, low, n int64) texts {
	t.all, t.each = t.all[:0], t.each[:0]
	for i := range min(n, 10) {
		number := len(t.all) + len(s.head)
		t.all = s.appendText(t.all, low+i)
		t.each = append(t.each, bounds{number, len(t.all) - len(s.tail) - 1, len(t.all)})
	}
	return t
}

// advance adds ten to each number. It reports false when there is none yet, or one has to have another digit.
func (t texts) advance() bool {
	for _, b := range t.each {
		if !decimal.Increment(t.all[b.number:b.last]) {
			return false
		}
	}
	return len(t.each) > 0
}

// write appends the texts to dst, and gives as many ids as there is room for.
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
