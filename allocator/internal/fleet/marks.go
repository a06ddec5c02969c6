package fleet

import (
	"math"
	"time"

	"github.com/hilo-id/hilo/scripts"
)

// Marks are the high-water marks that this client has seen of one counter at one server. It sends them with each request, since
// a counter below a mark has lost writes. The zero value has seen nothing. Marks are not safe for concurrent use.
type Marks struct {
	// Floor is the greatest number that the server issued to this client and that the client did not return. For an
	// identity it counts since the last forced seed below it.
	Floor int64
	Epoch int64 // the greatest seen, or greater by one to make the counter jump
	// Bare is the greatest number that the server issued to this client without prefix and tag.
	Bare int64
	// Count is the number of ranges in the newest reply. For an identity it is the greatest number of forced seeds in a reply.
	Count int64
	// issued and seconds are the server's tallies with the newest range, the numbers issued to all clients lately and the
	// length of that period. at is the time of that range, in whole seconds. A program can have many Marks, and with wider
	// fields each takes 16 bytes more.
	issued      int64
	seconds, at int32
}

// Record updates the marks with a reply, and reports whether it shows that the counter was made anew. now is the time since a
// fixed moment.
//
// A counter's ranges are counted up, and those that are lost are followed by a jump, with a greater epoch. So one that counts
// no more than before was deleted, and grew above the floor by other clients. Its numbers may have been issued before. The
// next request claims an epoch that the counter never had, so that it jumps.
func (m *Marks) Record(now time.Duration, got scripts.Range) (anew bool) {
	if got.Lowered > m.Count {
		m.Floor = 0
	}
	if got.Ranges > 0 {
		anew = got.Ranges <= m.Count && got.Epoch <= m.Epoch && got.Evidence == ""
		m.Count = got.Ranges
	} else { // a server that lost a forced seed must not make a later one lower the floor once more
		m.Count = max(m.Count, got.Lowered)
	}
	m.Floor, m.Epoch = max(m.Floor, got.High), max(m.Epoch, got.Epoch)
	if anew && m.Epoch < math.MaxInt64 {
		m.Epoch++
	}
	if got.Prefix+got.Tag == "" {
		m.Bare = max(m.Bare, got.High)
	}
	m.issued, m.seconds, m.at = got.Issued, int32(min(got.Seconds, math.MaxInt32)), int32(now/time.Second)
	return anew
}

// LeastGap returns the least jump that is safe according to the newest range. It is twice the server's tally with that range,
// or twice the numbers issued since then at the same rate. The server loses its tallies together with the state that they
// measure, so without LeastGap the jump for a slow client could end inside the ranges of fast ones.
func (m *Marks) LeastGap(now time.Duration) int64 {
	if m.Floor == 0 {
		return 0
	}
	since := (now - time.Duration(m.at)*time.Second).Seconds() * float64(m.issued) / float64(max(m.seconds, 1))
	if gap := 2 * math.Ceil(max(float64(m.issued), since)); gap < math.MaxInt64 {
		return int64(gap)
	}
	return math.MaxInt64
}
