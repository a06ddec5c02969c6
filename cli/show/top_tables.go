package show

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hilo-id/hilo/allocator/headroom"
	"github.com/hilo-id/hilo/cli/internal/term"
)

// unknown stands where there is nothing to show.
const unknown = "–"

// table is one of the servers.
func (s *state) table(now time.Time) term.Table {
	t := term.Table{Head: []string{"SERVER", "ROLE", "VERSION", "PREFIX", "HEALTH"}, Cut: []int{3, 4}}
	for _, server := range s.servers {
		l := server.last
		adds := l.Prefix
		if l.Tag != "" {
			adds += "…-" + l.Tag
		}
		if l.Identities {
			adds = strings.TrimSpace(adds + " (identities)")
		}
		if l.Durable != "" {
			adds = strings.TrimSpace(adds + " (durable)")
		}
		role := l.Role
		if role == "primary" && l.Replicas > 0 {
			role += " +" + strconv.Itoa(l.Replicas)
		}
		t.Add(server.name, cmp.Or(role, unknown), cmp.Or(l.Version, unknown),
			cmp.Or(adds, unknown), server.health(now))
	}
	return t
}

// overdue is by how much a look may be late before the table shows it.
const overdue = 2 * time.Second

func (s *server) health(now time.Time) string {
	l := s.last
	switch {
	case l.down != "":
		return "down for " + shortly(now.Sub(s.since)) + ": " + l.brief
	case l.at.IsZero():
		return "no reply yet"
	case now.Sub(l.at.Add(l.pause)) > overdue:
		return "silent for " + shortly(now.Sub(l.at))
	case l.Corrupt > 0:
		return "up; " + strconv.Itoa(l.Corrupt) + " corrupt, see hilo list"
	case l.Role == "replica":
		return "up, but takes no writes"
	}
	return "up, read in " + term.Short(int64(l.took))
}

// shortly is a duration in whole seconds.
func shortly(d time.Duration) string {
	return max(0, d).Round(time.Second).String()
}

// units are what headroom is shown as, in few letters.
var units = []struct {
	name string
	show func(headroom.Headroom) string
}{
	{"time", timeLeft},
	{"numbers", func(h headroom.Headroom) string { return briefly(h.Left) }},
	{"used", func(h headroom.Headroom) string { return fmt.Sprintf("%.2f%%", h.Used) }},
}

// tableOf is a table of counters, of several servers or of one. show writes a headroom; the columns of those are so wide at
// least, for a screen on which they are to stand still. The nearest bound is the most urgent: where there is no room, it is
// the last to go.
func tableOf(counters []*counter, limit int64, several bool, show func(headroom.Headroom) string, least int, style term.Style) term.Table {
	t := term.Table{Head: []string{"COLLECTION", "MAX", "RATE/s", "RANGES", "EPOCH"}, Drop: []int{3, 7, 6}, Style: style}
	for _, h := range headroom.To(limit, 0, 0) {
		t.Head = append(t.Head, fmt.Sprintf("%*s", least, h.Bound))
	}
	if several {
		t.Head, t.Drop = slices.Insert(t.Head, 1, "SERVER"), []int{4, 8, 7}
	}
	for _, c := range counters {
		cells := []any{c.label(), c.Max, term.Right(c.rateText()), term.Right(briefly(c.Ranges)), c.Epoch}
		for _, h := range c.headroom {
			cells = append(cells, term.Right(show(h)))
		}
		if several {
			cells = slices.Insert(cells, 1, any(c.server.name))
		}
		t.Add(cells...)
	}
	return t
}

func (c *counter) rateText() string {
	if c.rated {
		return term.Brief(c.rate)
	}
	return unknown
}

func timeLeft(h headroom.Headroom) string { return term.TimeLeft(h.Left, h.SecondsLeft) }

// briefly is brief of a number of things.
func briefly(n int64) string {
	if n < 1000 {
		return strconv.FormatInt(n, 10)
	}
	return term.Brief(float64(n))
}
