package cli

import (
	"strconv"
	"strings"
	"time"
	"unicode"
)

// topUnits are what headroom is shown as.
var topUnits = []string{"time", "numbers", "used"}

// topColumn is one of the columns of counters.
type topColumn struct {
	title string
	width int // at least, so that columns stand still
	drop  int // the first to go where there is no room has the greatest; 0 stays
	left  bool
	cell  func(c *topCounter) string
}

// topColumns are all columns but that of the name.
func topColumns(servers int, unit string) []topColumn {
	var all []topColumn
	if servers > 1 {
		all = append(all, topColumn{title: "SERVER", left: true, cell: func(c *topCounter) string { return c.server }})
	}
	all = append(all,
		topColumn{title: "MAX", cell: func(c *topCounter) string { return strconv.FormatInt(c.Max, 10) }},
		topColumn{title: "RATE/s", width: 6, cell: func(c *topCounter) string {
			if rate, known := c.rate(); known {
				return brief(rate)
			}
			return "–"
		}},
		topColumn{title: "RANGES", drop: 3, cell: func(c *topCounter) string { return briefly(c.Ranges) }},
		topColumn{title: "EPOCH", cell: func(c *topCounter) string { return strconv.FormatInt(c.Epoch, 10) }},
	)
	for i, bound := range bounds {
		// The nearest is the most urgent.
		all = append(all, topColumn{title: bound.name, width: 8, drop: i, cell: func(c *topCounter) string {
			rate, _ := c.rate()
			return headroomsAt(c.Max, rate)[i].shown(unit)
		}})
	}
	return all
}

// shown is the headroom in few letters.
func (h headroom) shown(unit string) string {
	switch unit {
	case "numbers":
		return briefly(h.Left)
	case "used":
		return strconv.FormatFloat(h.Used, 'f', 2, 64) + "%"
	}
	return h.timeLeft()
}

// briefly is brief of a number of things.
func briefly(n int64) string {
	if n < 1000 {
		return strconv.FormatInt(n, 10)
	}
	return brief(float64(n))
}

// The columns of servers.
var topServerTitles = []string{"SERVER", "ROLE", "VERSION", "PREFIX", "HEALTH"}

func (s *topServer) cells(now time.Time) []string {
	dash := func(text string) string {
		if text == "" {
			return "–"
		}
		return text
	}
	adds := s.last.prefix.ServerPrefix
	if tag := s.last.prefix.NodeTag; tag != "" {
		adds += "…-" + tag
	}
	role := s.last.role
	if count := s.last.replicas; role == "primary" && count != "" && count != "0" {
		role += " +" + count
	}
	return []string{s.name, dash(role), dash(s.last.version), dash(adds), s.health(now)}
}

// overdue is how long a look may take longer than expected before it is said.
const overdue = 2 * time.Second

func (s *topServer) health(now time.Time) string {
	switch {
	case s.down != "":
		return "down for " + shortly(now.Sub(s.since)) + ": " + s.last.brief
	case s.seen.IsZero():
		return "being asked"
	case now.Sub(s.due) > overdue:
		return "silent for " + shortly(now.Sub(s.seen))
	case s.last.corrupt > 0:
		return "up; " + strconv.Itoa(s.last.corrupt) + " corrupt, see hilo list"
	case s.last.role == "replica":
		return "up, but takes no writes"
	}
	return "up, read in " + short(int64(s.last.took))
}

// shortly is a duration in whole seconds.
func shortly(d time.Duration) string {
	return max(0, d).Round(time.Second).String()
}

// printable is text without what a terminal could take for a command: names are what stands in Redis.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, text)
}
