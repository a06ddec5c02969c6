package fleet

import (
	"slices"
	"sync"

	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// counter is what this client knows of a counter of a server. All spellings of a name share it. A program can have many, and a
// field more takes 16 bytes of each.
type counter struct {
	// turn is held during a request, because each one sends the floor that the one before it left.
	turn sync.Mutex
	// marks are guarded by Fleet.mu.
	marks Marks
}

// counterOf identifies a counter of a server. name is folded, and "" for ServerSide. It is not the key in Redis, which would take
// a text of its own.
type counterOf struct {
	kind Kind
	name string
}

// counters returns the counter of a kind and a folded name, and the one of the other kind. No server-side counter has another.
func counters(k Kind, name string) (own, other counterOf) {
	switch k {
	case Range:
		return counterOf{Range, name}, counterOf{Identity, name}
	case Identity:
		return counterOf{Identity, name}, counterOf{Range, name}
	case ServerSide:
	}
	return counterOf{kind: ServerSide}, counterOf{ServerSide, "none"}
}

// counter returns a counter, the same one each time.
func (s *Server) counter(of counterOf) *counter {
	s.fleet.mu.Lock()
	defer s.fleet.mu.Unlock()
	c, ok := s.counters[of.kind][of.name]
	if !ok {
		c = new(counter)
		s.counters[of.kind][of.name] = c
	}
	return c
}

// Marks returns the marks of a counter, which are zero if this client never used it.
func (s *Server) Marks(k Kind, name string) Marks {
	s.fleet.mu.Lock()
	defer s.fleet.mu.Unlock()
	return s.marks(counterOf{k, prefix.Fold(name)})
}

// marks is Marks with mu held.
func (s *Server) marks(of counterOf) Marks {
	if c, ok := s.counters[of.kind][of.name]; ok {
		return c.marks
	}
	return Marks{}
}

// SetFloor replaces the floor of a collection's counter when this client returned its newest numbers. No request for the counter
// may be in flight.
func (s *Server) SetFloor(collection string, floor int64) {
	c := s.counter(counterOf{Range, prefix.Fold(collection)})
	s.fleet.mu.Lock()
	defer s.fleet.mu.Unlock()
	c.marks.Floor = floor
}

// sentMarks returns the marks that a request for c has. other is the counter of the same name and the other kind.
func (s *Server) sentMarks(c *counter, other counterOf) scripts.Marks {
	f := s.fleet
	f.mu.Lock()
	defer f.mu.Unlock()
	sent := c.marks.sent(f.Now())
	sent.Settled = s.settled || len(f.servers) > 1
	others := s.marks(other)
	sent.Mixed = other.kind == Identity && others.Floor > 0 || others.Bare
	return sent
}

// record records what a reply shows of the counter and the server.
func (s *Server) record(c *counter, got scripts.Range) {
	s.fleet.mu.Lock()
	defer s.fleet.mu.Unlock()
	if got.Low == 0 && got.Epoch == 0 { // no reply
		return
	}
	c.marks.Record(s.fleet.Now(), got)
	s.settled = s.settled || !emptied(reported(got.Prefix, got.Tag, got.Interval))
	s.countJump(got.Evidence)
}

// countJump counts a jump, with mu held.
func (s *Server) countJump(e scripts.Evidence) {
	if i := slices.Index(Evidences[:], e); i >= 0 {
		s.jumps[i]++
	}
}
