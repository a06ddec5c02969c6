package allocator

import (
	"math"
	"sync"
	"time"

	"github.com/hilo-id/hilo/scripts"
)

// memory is what one server told of one counter. A server that comes back without its newest writes has forgotten it,
// so the client keeps it and sends it along. It is guarded by the server's mu.
type memory struct {
	// floor is the greatest number that the server gave to this client; of an identity, since it was last lowered by
	// force, which happened lowered times.
	floor   int64
	epoch   int64
	lowered int64
	// issued and seconds are the server's tallies with the newest range: how many numbers all clients were given, and
	// in how long. at is when they came.
	issued  int64
	seconds int64
	at      time.Duration
}

// remember keeps what a range says of its counter.
func (s *server) remember(m *memory, now time.Duration, got scripts.Range) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if got.Lowered > m.lowered {
		m.floor, m.lowered = 0, got.Lowered
	}
	m.floor, m.epoch = max(m.floor, got.High), max(m.epoch, got.Epoch)
	m.issued, m.seconds, m.at = got.Issued, got.Seconds, now
}

// recall is what stands in m, and the least gap that it calls for: twice what was issued when the tallies were told,
// and twice what was issued since then at that rate. The tallies are lost together with the state that they measure, so
// a slow client would else land in what fast ones hold.
func (s *server) recall(m *memory, now time.Duration) (known memory, leastGap int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.floor == 0 {
		return *m, 0
	}
	since := (now - m.at).Seconds() * float64(m.issued) / float64(max(m.seconds, 1))
	return *m, saturate(2 * math.Ceil(max(float64(m.issued), since)))
}

func saturate(f float64) int64 {
	if f >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(f)
}

// counter is a counter in Redis as this client knows it. Collections whose names differ in letter case only share it.
type counter struct {
	// asking lets one request for the counter out at a time: each has to know the floor that the one before left. It is
	// taken before Collection.mu, and held during I/O by design.
	asking sync.Mutex
	// told is what each server said, by server.index.
	told []memory
}
