package allocator

import (
	"sync"
	"time"

	"github.com/hilo-id/hilo/allocator/internal/memory"
	"github.com/hilo-id/hilo/scripts"
)

// remember keeps what a range says of its counter.
func (s *server) remember(told *memory.Counter, now time.Duration, got scripts.Range) {
	s.mu.Lock()
	defer s.mu.Unlock()
	told.Learn(now, got)
}

// recall is what was told until now.
func (s *server) recall(told *memory.Counter) memory.Counter {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *told
}

// counter is a counter in Redis as this client knows it. Collections whose names differ in letter case only share it.
type counter struct {
	// asking lets one request for the counter out at a time: each has to know the floor that the one before left. It is
	// taken before Collection.mu, and held during I/O by design.
	asking sync.Mutex
	// told is what each server said, by server.index. Each is guarded by the server's mu.
	told []memory.Counter
}
