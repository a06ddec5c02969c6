package show

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/hilo-id/hilo/cli/internal/term"
)

// screen is the bubbletea model of the live view. It does no I/O.
type screen struct {
	top           // Sort and Filter change
	state         *state
	width, height int
	now           time.Time

	reverse bool
	typing  bool // whether keys edit the filter
	unit    int  // index in units
	paused  bool
	pending map[int]pollResult // the newest of each server while paused
	help    bool
	scroll  int
	rows    []*counter // sorted and filtered
	table   term.Table // of all rows, so that columns keep their widths while scrolling
	total   int        // number of counters without the filter
}

func newScreen(t top) *screen {
	return &screen{top: t, state: t.newState(), pending: make(map[int]pollResult)}
}

// tick advances the clock.
type tick time.Time

// Init implements tea.Model.
func (*screen) Init() tea.Cmd {
	return func() tea.Msg { return tick(time.Now()) }
}

// Update implements tea.Model. It handles poll results and input.
func (s *screen) Update(message tea.Msg) (tea.Model, tea.Cmd) {
	switch m := message.(type) {
	case tea.WindowSizeMsg:
		s.width, s.height = m.Width, m.Height
	case tick:
		if !s.paused {
			s.now = time.Time(m)
		}
		return s, tea.Tick(time.Second, func(now time.Time) tea.Msg { return tick(now) })
	case pollResult:
		if s.paused {
			s.pending[m.server] = m
			break
		}
		s.state.merge(m)
		s.arrange()
	case tea.PasteMsg:
		if s.typing {
			s.typeFilter("", m.Content)
		}
	case tea.KeyPressMsg:
		if m.String() == "ctrl+z" {
			return s, tea.Suspend
		}
		if s.key(m.String(), m.Text) {
			return s, tea.Quit
		}
	}
	return s, nil
}

// View implements tea.Model.
func (s *screen) View() tea.View {
	view := tea.NewView(s.view())
	view.AltScreen = true
	return view
}

// arrange updates the rows and their table.
func (s *screen) arrange() {
	const minWidth = 8
	s.rows = s.state.sorted(s.Sort, s.Filter, s.reverse)
	s.table = countersTable(s.rows, s.state, units[s.unit].format, minWidth, grouped)
	s.total = 0
	for _, server := range s.state.servers {
		s.total += len(server.counters)
	}
}

// key handles a key press and reports whether to quit. text is the typed text, if any.
func (s *screen) key(name, text string) (quit bool) {
	switch {
	case name == "ctrl+c":
		return true
	case s.typing:
		s.typeFilter(name, text)
		return false
	case s.help:
		s.help = false
		return name == "q"
	}
	page := max(1, s.rowCount()-1)
	switch name {
	case "q":
		return true
	case "?", "h":
		s.help = true
	case "s":
		s.Sort = sorts[(slices.Index(sorts, s.Sort)+1)%len(sorts)]
	case "r":
		s.reverse = !s.reverse
	case "b":
		s.unit = (s.unit + 1) % len(units)
	case "/":
		s.typing = true
	case "esc":
		s.Filter = ""
	case "p", "space":
		s.pause()
	case "up", "k":
		s.scroll--
	case "down", "j":
		s.scroll++
	case "pgup":
		s.scroll -= page
	case "pgdown":
		s.scroll += page
	case "home", "g":
		s.scroll = 0
	case "end", "G":
		s.scroll = len(s.rows)
	}
	s.arrange()
	s.scroll = max(0, min(s.scroll, len(s.rows)-s.rowCount()))
	return false
}

func (s *screen) typeFilter(name, text string) {
	switch name {
	case "enter":
		s.typing = false
	case "esc":
		s.typing, s.Filter = false, ""
	case "backspace":
		if letters := []rune(s.Filter); len(letters) > 0 {
			s.Filter = string(letters[:len(letters)-1])
		}
	case "ctrl+u":
		s.Filter = ""
	default:
		s.Filter += text
	}
	s.scroll = 0
	s.arrange()
}

func (s *screen) pause() {
	if s.paused = !s.paused; s.paused {
		return
	}
	for i := range s.state.servers {
		if l, ok := s.pending[i]; ok {
			s.now = l.at
			s.state.merge(l)
		}
	}
	clear(s.pending)
}

// rowCount returns the number of counters that fit on the screen.
func (s *screen) rowCount() int {
	return max(0, s.height-len(s.header())-len(s.footer())-1)
}

// view returns at most height lines of at most width columns.
func (s *screen) view() string {
	if s.width <= 0 || s.height <= 0 {
		return ""
	}
	var lines []string
	if s.help {
		lines = append([]string{s.title(), ""}, helpLines...)
	} else {
		footer := s.footer()
		lines = append(s.header(), s.counters(s.rowCount())...)
		empty := max(0, s.height-len(footer)-len(lines))
		lines = slices.Concat(lines, make([]string, empty), footer)
	}
	lines = lines[:min(len(lines), s.height)]
	for i, line := range lines {
		lines[i] = ansi.Truncate(line, s.width, "…")
	}
	return strings.Join(lines, "\n")
}

var (
	bold   = ansi.Style{}.Bold()
	faint  = ansi.Style{}.Faint()
	red    = ansi.Style{}.ForegroundColor(ansi.Red)
	yellow = ansi.Style{}.Bold().ForegroundColor(ansi.Yellow)
)

func (s *screen) title() string {
	servers := term.Plural(len(s.state.servers), "server")
	if down := s.state.down(); down > 0 {
		servers += fmt.Sprintf(", %d down", down)
	}
	counters := term.Plural(s.total, "collection")
	if s.Filter != "" {
		counters = fmt.Sprintf("%d of %s with %q", len(s.rows), counters, s.Filter)
	}
	text := fmt.Sprintf("hilo top  %s  %s  %s  %s", s.Namespace, s.now.Format(time.TimeOnly), servers, counters)
	if s.paused {
		text += "  PAUSED"
	}
	return bold.Styled(term.Printable(text))
}

// header returns the lines above the counters.
func (s *screen) header() []string {
	servers, limit := s.state.servers, max(1, s.height/3-2)
	table := s.state.serversTable(s.now)
	lines := table.Lines(s.width, 0, len(servers))
	lines[0] = faint.Styled(lines[0])
	for i, server := range servers {
		if server.last.down != "" {
			lines[i+1] = red.Styled(lines[i+1])
		}
	}
	if hidden := len(servers) - limit; hidden > 0 {
		lines = append(lines[:limit], faint.Styled(fmt.Sprintf("and %d more", hidden+1)))
	}
	return slices.Concat([]string{s.title(), ""}, lines, []string{""})
}

// jumpShown is the time for which a jump is highlighted.
const jumpShown = time.Minute

// counters returns the titles and at most limit counters.
func (s *screen) counters(limit int) []string {
	if len(s.rows) == 0 {
		return []string{faint.Styled(s.emptyText())}
	}
	from := max(0, min(s.scroll, len(s.rows)-limit))
	shown := s.rows[from:min(len(s.rows), from+limit)]
	lines := s.table.Lines(s.width, from, from+len(shown))
	lines[0] = faint.Styled(lines[0])
	for i, counter := range shown {
		switch {
		case counter.low(), counter.jumpedSince(s.now.Add(-jumpShown)):
			lines[i+1] = yellow.Styled(lines[i+1])
		case counter.server.last.down != "":
			lines[i+1] = faint.Styled(lines[i+1])
		}
	}
	return lines
}

// emptyText explains why there is no counter.
func (s *screen) emptyText() string {
	if s.total > 0 {
		return fmt.Sprintf("No name contains %q. Esc shows all.", s.Filter)
	}
	for _, server := range s.state.servers {
		if server.counters != nil { // it has answered, even if it is down now
			return "No counter in this namespace yet. To create one: hilo next orders."
		}
	}
	return "No server has answered yet."
}

// footer returns the lines below the counters: the newest events and the keys.
func (s *screen) footer() []string {
	var lines []string
	count := min(3, s.height/8, len(s.state.events))
	for _, event := range s.state.events[len(s.state.events)-count:] {
		text := event.at.Format(time.TimeOnly) + "  " + term.Printable(event.text(grouped))
		if event.trouble {
			text = red.Styled(text)
		}
		lines = append(lines, text)
	}
	if len(lines) > 0 {
		lines = append([]string{""}, lines...)
	}
	if s.typing {
		return append(lines, bold.Styled("filter: "+term.Printable(s.Filter)+"_")+"  Enter keeps it, Esc shows all")
	}
	by := s.Sort
	if s.reverse {
		by += " reversed"
	}
	keys := fmt.Sprintf("s sort: %s  r reverse  / filter  b headroom: %s  p pause  ? help  q quit", by, units[s.unit].name)
	if len(keys) > s.width {
		keys = "s sort  / filter  p pause  ? help  q quit"
	}
	return append(lines, faint.Styled(keys))
}

var helpLines = []string{
	"s            sort by the next column: " + strings.Join(sorts, ", "),
	"r            reverse the order",
	"/            filter by name: Enter keeps the filter, Esc shows all",
	"b            headroom as time left, numbers left or share used",
	"p, space     pause",
	"up, down, Page Up, Page Down, Home, End, j, k, g, G",
	"             scroll",
	"q, Ctrl-C    quit",
	"",
	"MAX          the greatest number issued",
	"CEILING      the number up to which the counter reserved ahead",
	"RESERVED/s   numbers reserved a second, in ranges, over up to five minutes",
	"RANGES       ranges issued so far",
	"EPOCH        jumps after a restart, a failover or lost writes; a new jump is",
	"             highlighted for a minute",
	"2^31-1 …     until Max exceeds 32-bit integers, the integers that JavaScript",
	"             represents exactly, and --limit",
	"–            none or unknown; an unchanged counter has no time left",
	"",
	"Any key goes back.",
}
