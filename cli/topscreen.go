package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// topScreen is what a person sees of a topState, and how keys change it. It does no I/O and reads no clock.
type topScreen struct {
	state         *topState
	namespace     string
	width, height int
	now           time.Time

	sort    string
	reverse bool
	filter  string
	typing  bool // the filter
	unit    string
	paused  bool
	waiting map[int]look // the newest of each server, while paused
	help    bool
	scroll  int
	rows    []*topCounter // sorted and filtered
	all     int           // without the filter
}

func newTopScreen(t top) *topScreen {
	return &topScreen{
		state:     newTopState(t.names()),
		namespace: t.Namespace,
		sort:      t.Sort,
		filter:    t.Filter,
		unit:      topUnits[0],
		waiting:   make(map[int]look),
	}
}

// look takes a look in, or keeps it until the pause is over.
func (s *topScreen) look(l look) {
	if s.paused {
		s.waiting[l.server] = l
		return
	}
	s.state.take(l)
	s.arrange()
}

// tick moves the clock.
func (s *topScreen) tick(now time.Time) {
	if !s.paused {
		s.now = now
	}
}

func (s *topScreen) resize(width, height int) {
	s.width, s.height = width, height
}

// arrange sorts and filters anew.
func (s *topScreen) arrange() {
	s.rows = s.state.sorted(s.sort, s.filter, s.reverse)
	s.all = 0
	for i := range s.state.servers {
		s.all += len(s.state.servers[i].counters)
	}
}

// key does what a key stands for; text is what it types. It gives whether that was to quit.
func (s *topScreen) key(name, text string) (quit bool) {
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
		s.sort = following(topSorts, s.sort)
	case "r":
		s.reverse = !s.reverse
	case "b":
		s.unit = following(topUnits, s.unit)
	case "/":
		s.typing = true
	case "esc":
		s.filter = ""
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

// following is the word after another, the first after the last.
func following(words []string, word string) string {
	return words[(slices.Index(words, word)+1)%len(words)]
}

func (s *topScreen) typeFilter(name, text string) {
	switch name {
	case "enter":
		s.typing = false
	case "esc":
		s.typing, s.filter = false, ""
	case "backspace":
		if letters := []rune(s.filter); len(letters) > 0 {
			s.filter = string(letters[:len(letters)-1])
		}
	case "ctrl+u":
		s.filter = ""
	default:
		s.filter += text
	}
	s.scroll = 0
	s.arrange()
}

func (s *topScreen) pause() {
	s.paused = !s.paused
	for i := range s.state.servers {
		if l, ok := s.waiting[i]; ok && !s.paused {
			s.now = l.at
			s.state.take(l)
			delete(s.waiting, i)
		}
	}
}

// room is how many counters fit, below their titles.
func (s *topScreen) room() int {
	return max(0, s.height-len(s.above())-len(s.below())-1)
}

// view is the screen: at most height lines, none wider than width.
func (s *topScreen) view() string {
	if s.width <= 0 || s.height <= 0 {
		return ""
	}
	var lines []string
	if s.help {
		lines = append([]string{s.title(), ""}, topHelp...)
	} else {
		above, below := s.above(), s.below()
		if room := s.height - len(above) - len(below) - 1; room >= 0 {
			above = append(above, s.counters(room)...)
		}
		lines = above
		for len(lines) < s.height-len(below) {
			lines = append(lines, "")
		}
		lines = append(lines, below...)
	}
	lines = lines[:min(len(lines), s.height)]
	for i, line := range lines {
		lines[i] = ansi.Truncate(line, s.width, "…")
	}
	return strings.Join(lines, "\n")
}

var (
	topBold    = ansi.Style{}.Bold()
	topFaint   = ansi.Style{}.Faint()
	topTrouble = ansi.Style{}.ForegroundColor(ansi.Red)
	topChanged = ansi.Style{}.Bold().ForegroundColor(ansi.Yellow)
)

func (s *topScreen) title() string {
	down := 0
	for i := range s.state.servers {
		if s.state.servers[i].down != "" {
			down++
		}
	}
	servers := plural(len(s.state.servers), "server")
	if down > 0 {
		servers += fmt.Sprintf(", %d down", down)
	}
	counters := plural(s.all, "collection")
	if s.filter != "" {
		counters = fmt.Sprintf("%d of %s with %q", len(s.rows), counters, s.filter)
	}
	text := fmt.Sprintf("hilo top  %s  %s  %s  %s", s.namespace, s.now.Format(time.TimeOnly), servers, counters)
	if s.paused {
		text += "  PAUSED"
	}
	return topBold.Styled(printable(text))
}

// above is what stands above the counters.
func (s *topScreen) above() []string {
	lines := append([]string{s.title(), ""}, s.serverLines(max(1, s.height/3-2))...)
	return append(lines, "")
}

func (s *topScreen) serverLines(most int) []string {
	widths := make([]int, len(topServerTitles))
	rows := [][]string{slices.Clone(topServerTitles)}
	for i := range s.state.servers {
		rows = append(rows, s.state.servers[i].cells(s.now))
	}
	for _, row := range rows {
		for i, cell := range row {
			row[i] = printable(cell)
			widths[i] = max(widths[i], ansi.StringWidth(row[i]))
		}
	}
	widths[0], widths[3] = min(widths[0], 16), min(widths[3], 20)
	var lines []string
	for i, row := range rows {
		var line strings.Builder
		for j, cell := range row[:len(row)-1] {
			line.WriteString(padded(cell, widths[j], true) + "  ")
		}
		line.WriteString(row[len(row)-1])
		text := strings.TrimRight(line.String(), " ")
		switch {
		case i == 0:
			text = topFaint.Styled(text)
		case s.state.servers[i-1].down != "":
			text = topTrouble.Styled(text)
		}
		lines = append(lines, text)
	}
	if hidden := len(lines) - 1 - most; hidden > 0 {
		lines = append(lines[:most], topFaint.Styled(fmt.Sprintf("and %d more", hidden+1)))
	}
	return lines
}

// padded is text in exactly width columns.
func padded(text string, width int, left bool) string {
	text = ansi.Truncate(text, width, "…")
	fill := strings.Repeat(" ", width-ansi.StringWidth(text))
	if left {
		return text + fill
	}
	return fill + text
}

// below is what stands below the counters: what happened, and the keys.
func (s *topScreen) below() []string {
	var lines []string
	most := min(3, s.height/8, len(s.state.events))
	for _, event := range s.state.events[len(s.state.events)-most:] {
		text := event.at.Format(time.TimeOnly) + "  " + printable(event.text)
		if event.trouble {
			text = topTrouble.Styled(text)
		}
		lines = append(lines, text)
	}
	if len(lines) > 0 {
		lines = append([]string{""}, lines...)
	}
	if s.typing {
		return append(lines, topBold.Styled("filter: "+printable(s.filter)+"_")+"  Enter keeps it, Esc shows all")
	}
	by := s.sort
	if s.reverse {
		by += " reversed"
	}
	keys := fmt.Sprintf("s sort: %s  r reverse  / filter  b headroom: %s  p pause  ? help  q quit", by, s.unit)
	if len(keys) > s.width {
		keys = "s sort  / filter  p pause  ? help  q quit"
	}
	return append(lines, topFaint.Styled(keys))
}

var topHelp = []string{
	"s            sort by the next column: " + strings.Join(topSorts, ", "),
	"r            the other way round",
	"/            filter by name: Enter keeps the filter, Esc shows all",
	"b            headroom as time left at this rate, numbers left, share used",
	"p, space     pause",
	"up, down, Page Up, Page Down, Home, End, j, k, g, G",
	"             scroll",
	"q, Ctrl-C    quit",
	"",
	"MAX          the greatest number that any client was given",
	"RATE/s       numbers a second over the last minute, as ranges are taken",
	"RANGES       ranges handed out so far",
	"EPOCH        jumps after lost writes; a new one stands out for a minute",
	"2^31-1 …     until Max is past what 32-bit integers hold, what JavaScript's",
	"             numbers hold exactly, and what hilo gives",
	"",
	"Any key goes back.",
}
