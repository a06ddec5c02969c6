package fleet

import (
	"math"
	"time"

	"github.com/hilo-id/hilo/scripts"
)

// Marks are the high-water marks that this client has seen of one counter at one server. It sends them with each request, since
// a counter below a mark has lost writes. The zero value has seen nothing. Marks are not safe for concurrent use. A program can
// have many, and a wider field takes 16 bytes more of each.
type Marks struct {
	// Floor is the greatest number that the server issued to this client and that the client did not return. For an
	// identity it counts since the last forced seed below it.
	Floor int64
	// Epoch, Ceiling and Block are the greatest in a reply.
	Epoch, Ceiling, Block int64
	// lowered is the greatest number of forced seeds of an identity in a reply, and at the time of the newest reply.
	lowered, at int32
	// Bare reports that the server issued numbers without prefix and tag to this client.
	Bare bool
}

// Record updates the marks with a reply. now is the time since a fixed moment.
func (m *Marks) Record(now time.Duration, got scripts.Range) {
	if lowered := int32(min(got.Lowered, math.MaxInt32)); lowered > m.lowered { // a server that lost a forced seed must not make a later one lower the floor once more
		m.Floor, m.lowered = 0, lowered
	}
	m.Epoch, m.Ceiling, m.Block = max(m.Epoch, got.Epoch), max(m.Ceiling, got.Ceiling), max(m.Block, got.Block)
	m.at = seconds(now)
	if got.Low > 0 { // an exact value may have been refused
		m.Floor = max(m.Floor, got.High)
		m.Bare = m.Bare || got.Prefix+got.Tag == ""
	}
}

// sent returns the marks as a request has them.
func (m *Marks) sent(now time.Duration) scripts.Marks {
	return scripts.Marks{
		Floor: m.Floor, Epoch: m.Epoch, Ceiling: m.Ceiling, Block: m.Block, Lowered: int64(m.lowered),
		Age: int64(seconds(now) - m.at),
	}
}

// seconds returns a time in seconds, rounded up.
func seconds(d time.Duration) int32 {
	return int32(min((d+time.Second-1)/time.Second, math.MaxInt32))
}
