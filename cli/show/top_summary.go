package show

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/hilo-id/hilo/cli/internal/term"
)

var grouped = term.Style{Group: true}

// summary holds the key figures.
type summary struct {
	Servers  figure `json:"servers"`  // servers that are up
	Headroom figure `json:"headroom"` // the counter that reaches the bound that alarms first
	Jumps    figure `json:"jumps"`    // counters that jumped since this hilo top began
	Rate     figure `json:"rate"`     // numbers reserved a second, of all counters whose rate is known
}

// figure is a key figure as text.
type figure struct {
	Figure string `json:"figure"`
	Detail string `json:"detail"`
	Alarm  bool   `json:"alarm"`
}

// summarize returns the summary of all servers and of the counters that match the filter.
func (t top) summarize(s *state) summary {
	var scarce, jumped *counter
	var jumps, collections, identities int64
	rate, rated := 0.0, false
	for c := range s.counters(t.Filter) {
		if c.identity {
			identities++
		} else {
			collections++
		}
		rate, rated = rate+c.rate, rated || c.rated
		if scarce == nil || byHeadroom(c, scarce) < 0 {
			scarce = c
		}
		if len(c.jumps) > 0 {
			jumps++
			if jumped == nil || c.lastJump().at.After(jumped.lastJump().at) {
				jumped = c
			}
		}
	}
	found := summary{
		Servers:  s.serversFigure(),
		Headroom: figure{Figure: unknown, Detail: "no counter grows"},
		Jumps:    figure{Figure: "none", Detail: "since the first poll"},
		Rate:     figure{Figure: unknown, Detail: "reserved, by " + grouped.Plural(collections, "collection") + " and " + grouped.Plural(identities, "identity")},
	}
	if rated || collections+identities == 0 {
		found.Rate.Figure = term.Brief(rate) + "/s"
	}
	if !s.began.IsZero() {
		found.Jumps.Detail = "since top began, " + s.began.Format(time.TimeOnly)
	}
	if scarce != nil && (scarce.low() || !math.IsInf(scarce.criticalLeft(), 1)) {
		found.Headroom = scarce.headroomFigure()
	}
	if jumped != nil {
		last := jumped.lastJump()
		found.Jumps = figure{term.Plural(jumps, "counter"), grouped.Sprintf("%s by %d at %s", jumped.label(), last.By, last.at.Format(time.TimeOnly)), true}
	}
	return found
}

func (c *counter) headroomFigure() figure {
	h := c.critical()
	switch {
	case h.Left == 0:
		return figure{"exhausted", c.label() + ", at " + h.Bound, true}
	case h.SecondsLeft == nil:
		return figure{fmt.Sprintf("%.3g%% used", h.Used), c.label() + " of " + h.Bound, c.low()}
	}
	return figure{timeLeft(h), c.label() + " to " + h.Bound, c.low()}
}

// serversFigure counts the servers that are up and describes the problems of the others.
func (s *state) serversFigure() figure {
	up, alarm := 0, false
	var wrong, names []string
	for _, server := range s.servers {
		name, r := server.name, server.last
		names = append(names, name)
		switch {
		case server.seq == 0:
			wrong = append(wrong, name+" has not replied yet")
			continue
		case r.down != "":
			wrong, alarm = append(wrong, name+" is down since "+server.since.Format(time.TimeOnly)), true
			continue
		case r.Role == "replica":
			wrong, alarm = append(wrong, name+" is a replica, and takes no writes"), true
		case r.NoSettings:
			wrong, alarm = append(wrong, name+" has no settings: it is new, or lost its data"), true
		case r.Corrupt > 0:
			wrong, alarm = append(wrong, fmt.Sprintf("%s has %s", name, term.Plural(r.Corrupt, "corrupt key"))), true
		}
		up++
	}
	f := figure{Figure: fmt.Sprintf("%d of %d up", up, len(s.servers)), Detail: strings.Join(names, ", "), Alarm: alarm}
	if len(wrong) > 0 {
		f.Detail = strings.Join(wrong, "; ")
	}
	return f
}
