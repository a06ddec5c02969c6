package show

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hilo-id/hilo/allocator/headroom"
	"github.com/hilo-id/hilo/cli/internal/term"
)

// unknown is shown in place of a missing value.
const unknown = "–"

func (s *state) serversTable(now time.Time) term.Table {
	t := term.Table{Head: []string{"SERVER", "ROLE", "VERSION", "PREFIX", "HEALTH"}, Cut: []int{3, 4}}
	for _, server := range s.servers {
		r := server.last
		adds := r.Prefix
		if r.Tag != "" {
			adds += "…-" + r.Tag
		}
		if r.Identities {
			adds += " (identities)"
		}
		if low, high := r.interval(math.MaxInt64); low > 1 || high < math.MaxInt64 {
			adds += fmt.Sprintf(" %d to %d", low, high)
		}
		if r.Durable != "" {
			adds += " (durable)"
		}
		role := r.Role
		if role == "primary" && r.Replicas > 0 {
			role += " +" + strconv.Itoa(r.Replicas)
		}
		t.Add(server.name, cmp.Or(role, unknown), cmp.Or(r.Version, unknown), cmp.Or(strings.TrimSpace(adds), unknown), server.health(now))
	}
	return t
}

// overdue is the delay after which a late poll is shown.
const overdue = 2 * time.Second

func (s *server) health(now time.Time) string {
	r := s.last
	switch {
	case r.down != "":
		return "down for " + wholeSeconds(now.Sub(s.since)) + ": " + r.brief
	case r.at.IsZero():
		return "no reply yet"
	case now.Sub(r.at.Add(r.pause)) > overdue:
		return "silent for " + wholeSeconds(now.Sub(r.at))
	case r.Corrupt > 0:
		return "up; " + strconv.Itoa(r.Corrupt) + " corrupt, see hilo list"
	case r.Role == "replica":
		return "up, but takes no writes"
	case r.NoSettings:
		return "up; no settings, see hilo doctor"
	}
	return "up, read in " + term.Short(int64(r.took))
}

// wholeSeconds formats a duration in whole seconds.
func wholeSeconds(d time.Duration) string {
	return max(0, d).Round(time.Second).String()
}

// units are the units of headroom on the screen.
var units = []struct {
	name   string
	format func(headroom.Headroom) string
}{
	{"time", timeLeft},
	{"numbers", func(h headroom.Headroom) string { return briefCount(h.Left) }},
	{"used", func(h headroom.Headroom) string { return fmt.Sprintf("%.2f%%", h.Used) }},
}

// countersTable returns a table of counters, with a column for the server if there are several. format formats a headroom. The
// headroom columns have at least minWidth, so that they keep their positions on a screen. The column of the nearest bound,
// which is the most urgent, is dropped last.
func countersTable(counters []*counter, s *state, format func(headroom.Headroom) string, minWidth int, style term.Style) term.Table {
	t := term.Table{Head: []string{"COLLECTION", "MAX", "CEILING", "RESERVED/s", "RANGES", "EPOCH"}, Drop: []int{2, 4}, Style: style}
	var limits []int64
	for _, server := range s.servers {
		limits = append(limits, server.limit)
	}
	several, bounds := len(s.servers) > 1, headroom.Bounds(limits...)
	for _, bound := range bounds {
		t.Head = append(t.Head, fmt.Sprintf("%*s", minWidth, style.Digits(bound)))
	}
	if several {
		t.Head, t.Drop = slices.Insert(t.Head, 1, "SERVER"), []int{3, 5}
	}
	t.Drop = append(t.Drop, len(t.Head)-1, len(t.Head)-2)
	for _, c := range counters {
		var ceiling any = c.Ceiling
		if c.Ceiling == 0 {
			ceiling = term.Right(unknown)
		}
		cells := []any{c.label(), c.Max, ceiling, term.Right(c.rateText()), term.Right(briefCount(c.Ranges)), c.Jumps}
		for _, bound := range bounds {
			cells = append(cells, term.Right(format(headroom.Find(c.headroom, bound))))
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

// briefCount formats n like term.Brief, but without decimals below 1,000.
func briefCount(n int64) string {
	if n < 1000 {
		return strconv.FormatInt(n, 10)
	}
	return term.Brief(float64(n))
}
