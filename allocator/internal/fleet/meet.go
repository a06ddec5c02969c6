package fleet

import (
	"slices"
	"time"

	"go.uber.org/zap"
)

// meeting is a replication id that a reply had, and the time of the first such reply.
type meeting struct {
	origin string
	at     time.Duration
}

// maxMeetings bounds the replication ids that are remembered of a server. Each restart or promotion adds one.
const maxMeetings = 16

// meet records the replication id in the reply to a request that was sent at that time. It finds servers behind one address that do
// not replicate, such as two pods behind a Service, and logs them once.
//
// A server gets a new replication id when it is restarted or promoted, and no id ever comes back. So two servers reply in turn if an
// earlier id is in the reply to a request that was sent after another one had been received. Replies to requests that overlap
// prove nothing. In a cluster a slot may move to another node, and back.
func (s *Server) meet(sent time.Duration, origin string) {
	if other := s.recordMeeting(sent, origin); other != "" {
		s.log.Error("two servers reply in turn as if they were one, and both issue numbers: hilo doctor",
			zap.Strings("replicationIds", []string{origin, other}))
	}
}

// recordMeeting returns the replication id of the other server when two are found, and otherwise "".
func (s *Server) recordMeeting(sent time.Duration, origin string) (other string) {
	s.fleet.mu.Lock()
	defer s.fleet.mu.Unlock()
	n := len(s.met)
	switch {
	case s.severalServe || s.isCluster || origin == "":
		return ""
	case n > 0 && (s.met[n-1].origin == origin || sent <= s.met[n-1].at):
		return ""
	case slices.ContainsFunc(s.met, func(m meeting) bool { return m.origin == origin }):
		s.severalServe = true
		return s.met[n-1].origin
	case n == maxMeetings:
		s.met = s.met[1:]
	}
	s.met = append(s.met, meeting{origin, s.fleet.Now()})
	return ""
}
