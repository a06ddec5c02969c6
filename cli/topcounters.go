package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// leastName is how wide the column of names is before others have to go.
const leastName = 14

// counters are the lines of the counters: their titles, and at most room of them.
func (s *topScreen) counters(room int) []string {
	if len(s.rows) == 0 {
		return []string{topFaint.Styled(s.none())}
	}
	columns, name := s.fit()
	titles := []string{padded("COLLECTION", name, true)}
	for _, c := range columns {
		titles = append(titles, padded(c.title, c.width, c.left))
	}
	lines := []string{topFaint.Styled(strings.Join(titles, "  "))}
	down := make(map[string]bool)
	for i := range s.state.servers {
		down[s.state.servers[i].name] = s.state.servers[i].down != ""
	}
	from := max(0, min(s.scroll, len(s.rows)-room))
	for _, counter := range s.rows[from:min(len(s.rows), from+room)] {
		cells := []string{padded(printable(counter.Name), name, true)}
		for _, c := range columns {
			cells = append(cells, padded(printable(c.cell(counter)), c.width, c.left))
		}
		line := strings.Join(cells, "  ")
		switch {
		case !counter.jumped.IsZero() && s.now.Sub(counter.jumped) < rateWindow:
			line = topChanged.Styled(line)
		case down[counter.server]:
			line = topFaint.Styled(line)
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return lines
}

func (s *topScreen) none() string {
	if s.all > 0 {
		return fmt.Sprintf("No collection has %q in its name. Esc shows all.", s.filter)
	}
	for i := range s.state.servers {
		if server := &s.state.servers[i]; server.down == "" && !server.seen.IsZero() {
			return "No counter in this namespace yet: hilo next orders makes one."
		}
	}
	return "No server has answered yet."
}

// fit gives the columns that there is room for, each with its width, and the width of the names.
func (s *topScreen) fit() (columns []topColumn, name int) {
	columns = topColumns(len(s.state.servers), s.unit)
	rest := s.width
	for i := range columns {
		c := &columns[i]
		c.width = max(c.width, ansi.StringWidth(c.title))
		if c.title == "MAX" || c.title == "SERVER" { // the others have fixed widths
			for _, row := range s.rows {
				c.width = max(c.width, ansi.StringWidth(c.cell(row)))
			}
			if c.left {
				c.width = min(c.width, 12)
			}
		}
		rest -= 2 + c.width
	}
	for rest < leastName {
		at := leastColumn(columns)
		if at < 0 {
			break
		}
		rest += 2 + columns[at].width
		columns = slices.Delete(columns, at, at+1)
	}
	name = len("COLLECTION")
	for _, row := range s.rows {
		name = max(name, ansi.StringWidth(row.Name))
	}
	return columns, max(len("COLLECTION"), min(name, rest))
}

// leastColumn is the first to go where there is no room, -1: all stay.
func leastColumn(columns []topColumn) int {
	at, drop := -1, 0
	for i, c := range columns {
		if c.drop > drop {
			at, drop = i, c.drop
		}
	}
	return at
}
