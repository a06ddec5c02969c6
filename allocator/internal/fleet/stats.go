package fleet

import (
	"time"

	"github.com/hilo-id/hilo/prefix"
)

// Stats is a snapshot of a server.
type Stats struct {
	Name     string
	Failures int
	RetryIn  time.Duration
	Err      error // nil if it is up
	// Answered is the time of the latest answer on the fleet's clock, or 0.
	Answered time.Duration
	// Desc is the server's report, if Known.
	Known               bool
	Desc                prefix.Server
	Refills, Identities Latency
	// Obstacle is what keeps ceilings from being raised, or nil, and Lasts how long the numbers of the first counter that runs
	// out last, 0 if unknown.
	Obstacle error
	Lasts    time.Duration
	// Jumps has the index of Evidences.
	Jumps [len(Evidences)]int64
}

// Stats returns a snapshot of all servers, and the conflict in their settings that was found before any identifier was
// issued, or nil.
func (f *Fleet) Stats() (servers []Stats, conflict error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.Now()
	for _, s := range f.servers {
		stats := Stats{
			Name: s.Name, Err: s.down, RetryIn: s.backoff.Wait(now), Answered: s.answered,
			Refills: s.refills, Identities: s.identities, Jumps: s.jumps,
		}
		stats.Lasts, stats.Obstacle = s.obstacles()
		if s.down != nil {
			stats.Failures = s.backoff.failures
		}
		if s.current != nil {
			stats.Known, stats.Desc = true, s.current.Desc
			stats.Desc.Identities, stats.Desc.Durable = s.home, s.durable
		}
		servers = append(servers, stats)
	}
	return servers, f.settingsConflict()
}
