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

// screen is what a person sees of a state, and how keys change it: a model of bubbletea, which does no I/O.
type screen struct {
	top           // Sort and Filter change
	state         *state
	width, height int
	now           time.Time

	reverse bool
	typing  bool // the filter
	unit    int  // of units
	paused  bool
	waiting map[int]look // the newest of each server, while paused
	help    bool
	scroll  int
	rows    []*counter // sorted and filtered
	table   term.Table // of all of them, so that columns stand still
	all     int        // without the filter
}

func newScreen(t top) *screen {
	return &screen{top: t, state: newState(t.targets, t.Limit), waiting: make(map[int]look)}
}

// tick moves the clock, for the time that a server has been down.
type tick time.Time

// Init is of tea.Model, as Update and View are.
func (*screen) Init() tea.Cmd {
	return func() tea.Msg { return tick(time.Now()) }
}

// Update takes in what happened: a look, or what a person does.
func (s *screen) Update(message tea.Msg) (tea.Model, tea.Cmd) {
	switch m := message.(type) {
	case tea.WindowSizeMsg:
		s.width, s.height = m.Width, m.Height
	case tick:
		if !s.paused {
			s.now = time.Time(m)
		}
		return s, tea.Tick(time.Second, func(now time.Time) tea.Msg { return tick(now) })
	case look:
		if s.paused {
			s.waiting[m.server] = m
			break
		}
		s.state.take(m)
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

// View draws all of the screen.
func (s *screen) View() tea.View {
	view := tea.NewView(s.view())
	view.AltScreen = true
	return view
}

// arrange sorts and filters anew.
func (s *screen) arrange() {
	const least = 8 // columns, of each headroom
	s.rows = s.state.sorted(s.Sort, s.Filter, s.reverse)
	s.table = tableOf(s.rows, s.state.limit, len(s.state.servers) > 1, units[s.unit].show, least, term.Style{Group: true})
	s.all = 0
	for _, server := range s.state.servers {
		s.all += len(server.counters)
	}
}

// key handles a key, which types text, and reports whether to quit.
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
	page := max(1, s.room()-1)
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
	s.scroll = max(0, min(s.scroll, len(s.rows)-s.room()))
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
		if l, ok := s.waiting[i]; ok {
			s.now = l.at
			s.state.take(l)
		}
	}
	clear(s.waiting)
}

// room is how many counters fit, below their titles.
func (s *screen) room() int {
	return max(0, s.height-len(s.above())-len(s.below())-1)
}

// view is the screen: at most height lines, none wider than width.
func (s *screen) view() string {
	if s.width <= 0 || s.height <= 0 {
		return ""
	}
	var lines []string
	if s.help {
		lines = append([]string{s.title(), ""}, helpLines...)
	} else {
		below := s.below()
		lines = append(s.above(), s.counters(s.room())...)
		empty := max(0, s.height-len(below)-len(lines))
		lines = slices.Concat(lines, make([]string, empty), below)
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
	counters := term.Plural(s.all, "collection")
	if s.Filter != "" {
		counters = fmt.Sprintf("%d of %s with %q", len(s.rows), counters, s.Filter)
	}
	text := fmt.Sprintf("hilo top  %s  %s  %s  %s", s.Namespace, s.now.Format(time.TimeOnly), servers, counters)
	if s.paused {
		text += "  PAUSED"
	}
	return bold.Styled(term.Printable(text))
}

// above is what stands above the counters.
func (s *screen) above() []string {
	servers, most := s.state.servers, max(1, s.height/3-2)
	table := s.state.table(s.now)
	lines := table.Lines(s.width, 0, len(servers))
	lines[0] = faint.Styled(lines[0])
	for i, server := range servers {
		if server.last.down != "" {
			lines[i+1] = red.Styled(lines[i+1])
		}
	}
	if hidden := len(servers) - most; hidden > 0 {
		lines = append(lines[:most], faint.Styled(fmt.Sprintf("and %d more", hidden+1)))
	}
	return slices.Concat([]string{s.title(), ""}, lines, []string{""})
}

// counters are the lines of the counters: their titles, and at most room of them.
func (s *screen) counters(room int) []string {
	if len(s.rows) == 0 {
		return []string{faint.Styled(s.none())}
	}
	from := max(0, min(s.scroll, len(s.rows)-room))
	shown := s.rows[from:min(len(s.rows), from+room)]
	lines := s.table.Lines(s.width, from, from+len(shown))
	lines[0] = faint.Styled(lines[0])
	for i, counter := range shown {
		switch {
		case counter.low(), counter.jumpedSince(s.now.Add(-rateWindow)):
			lines[i+1] = yellow.Styled(lines[i+1])
		case counter.server.last.down != "":
			lines[i+1] = faint.Styled(lines[i+1])
		}
	}
	return lines
}

func (s *screen) none() string {
	if s.all > 0 {
		return fmt.Sprintf("No collection has %q in its name. Esc shows all.", s.Filter)
	}
	for _, server := range s.state.servers {
		if server.counters != nil { // it answered, also if it is down now
			return "No counter in this namespace yet: hilo next orders makes one."
		}
	}
	return "No server has answered yet."
}

// below is what stands below the counters: what happened, and the keys.
func (s *screen) below() []string {
	var lines []string
	most := min(3, s.height/8, len(s.state.events))
	for _, event := range s.state.events[len(s.state.events)-most:] {
		text := event.at.Format(time.TimeOnly) + "  " + term.Printable(event.text)
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
	"r            the other way round",
	"/            filter by name: Enter keeps the filter, Esc shows all",
	"b            headroom as time left at this rate, numbers left, share used",
	"p, space     pause",
	"up, down, Page Up, Page Down, Home, End, j, k, g, G",
	"             scroll",
	"q, Ctrl-C    quit",
	"",
	"MAX          the greatest number issued",
	"RATE/s       numbers a second over the last minute, as ranges are taken",
	"RANGES       ranges issued so far",
	"EPOCH        jumps after lost writes; a new one stands out for a minute",
	"2^31-1 …     until Max is past what 32-bit integers hold, what JavaScript's",
	"             numbers hold exactly, and what hilo issues",
	"–            none, or not known: a counter that stands still has no time left",
	"",
	"Any key goes back.",
}
