package show

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/target"
)

// screenOf returns the screen of two servers, of which the second is down, with n collections.
func screenOf(n int) *screen {
	s := newScreen(top{
		Session: &base.Session{Namespace: "Raven"},
		targets: []target.Target{{Name: "north"}, {Name: "south"}},
		Sort:    "name",
		Limit:   math.MaxInt64,
	})
	first := at(0)
	for i := range n {
		first.counters = append(first.counters, polledCounter{Counter: counterOf(fmt.Sprintf("c%04d", i), int64(i), 1, 0), at: first.at})
	}
	s.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	s.Update(tick(topClock))
	s.Update(first)
	s.Update(pollResult{server: 1, at: topClock, down: "no Redis answers", brief: "connection refused"})
	return s
}

// lines returns the view without styles.
func (s *screen) lines() []string { return strings.Split(ansi.Strip(s.view()), "\n") }

func (s *screen) shows(text string) bool { return strings.Contains(ansi.Strip(s.view()), text) }

func TestTopFitsAllScreens(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 5000} {
		s := screenOf(n)
		l := at(1, counterOf("a collection with a very long name, 数えきれないほど長い名前のコレクション", math.MaxInt64, math.MaxInt64, math.MaxInt64))
		l.Prefix = strings.Repeat("North", 12) + "/"
		s.Update(l)
		for width := 1; width <= 140; width += 3 {
			for height := 1; height <= 40; height++ {
				s.Update(tea.WindowSizeMsg{Width: width, Height: height})
				for _, state := range []string{"", "help", "typing"} {
					s.help, s.typing = state == "help", state == "typing"
					view := s.view()
					if got := strings.Count(view, "\n") + 1; got > height {
						t.Fatalf("%dx%d, %d collections, %s: %d lines", width, height, n, state, got)
					}
					for line := range strings.Lines(view) {
						if got := ansi.StringWidth(strings.TrimSuffix(line, "\n")); got > width {
							t.Fatalf("%dx%d, %d collections, %s: a line of %d: %q", width, height, n, state, got, line)
						}
					}
				}
			}
		}
	}
}

func TestTopShowsServersAndCollections(t *testing.T) {
	t.Parallel()
	s := screenOf(2)
	for _, want := range []string{
		"hilo top  Raven  03:04:05  2 servers, 1 down  2 collections", "north   primary", "down for 0s: connection refused",
		"COLLECTION", "c0000", "c0001", "south is down: connection refused", "q quit",
	} {
		if !s.shows(want) {
			t.Errorf("%q is not in\n%s", want, ansi.Strip(s.view()))
		}
	}
	if got := len(s.lines()); got != 24 {
		t.Errorf("got %d lines, want 24: lines of the previous frame would remain", got)
	}
	s.Update(pollResult{server: 1, at: topClock.Add(7 * time.Second)})
	if !s.shows("south is back after 7s") || s.shows("1 down") {
		t.Errorf("south is not shown as back:\n%s", ansi.Strip(s.view()))
	}
}

func TestTopKeys(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, keys string // separated by commas
		shows, not string
	}{
		{"nothing", "", "s sort: name ", "c0900"},
		{"sort by the next", "s", "s sort: max ", "c0000"},
		{"sort, all the way round", "s,s,s,s,s,s,s", "s sort: name ", "c0900"},
		{"reverse", "r", "c0999", "c0000"},
		{"filter", "/,c,0,9,9,9", "1 of 1000 collections with \"c0999\"", "c0000"},
		{"a filter with a match", "/,0,9,9,9", "c0999", "c0000"},
		{"keys while the filter is typed", "/,x,q", "filter: xq_", "q quit"},
		{"a filter that is kept", "/,9,9,9,enter", "q quit", "c0000"},
		{"a filter that is canceled", "/,9,9,9,esc", "c0000", "filter:"},
		{"a kept filter that is cleared", "/,9,9,9,enter,esc", "c0000", "filter:"},
		{"a letter that is deleted", "/,9,8,backspace", "filter: 9_", "c0000"},
		{"a filter that is deleted", "/,9,8,ctrl+u", "filter: _", "No name"},
		{"help", "?", "Any key goes back.", "c0000"},
		{"help and back", "?,x", "c0000", "Any key"},
		{"headroom in numbers", "b", "headroom: numbers", "headroom: time"},
		{"headroom in time again", "b,b,b", "headroom: time", "headroom: used"},
		{"down", "down", "c0001", "c0000"},
		{"down and up", "j,k,up", "c0000", "c0900"},
		{"a page down", "pgdown", "c0013", "c0000"},
		{"a page up", "pgdown,pgdown,pgup", "c0013", "c0000"},
		{"the end", "end", "c0999", "c0000"},
		{"no further than the end", "G,down,down,up", "c0998", "c0000"},
		{"the beginning", "end,home", "c0000", "c0999"},
		{"pause", "p", "PAUSED", "Any key"},
		{"pause and go on", "p,space", "c0000", "PAUSED"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := screenOf(1000)
			for key := range strings.SplitSeq(test.keys, ",") {
				text := key
				if len(key) > 1 {
					text = ""
				}
				if s.key(key, text) {
					t.Fatalf("%s quits", key)
				}
			}
			if !s.shows(test.shows) || s.shows(test.not) {
				t.Errorf("%q should be, and %q should not, in\n%s", test.shows, test.not, ansi.Strip(s.view()))
			}
		})
	}
}

func TestTopQuits(t *testing.T) {
	t.Parallel()
	for keys, want := range map[string]bool{"q": true, "ctrl+c": true, "? q": true, "/ q": false, "/ ctrl+c": true, "p q": true, "x": false} {
		s := screenOf(1)
		quit := false
		for key := range strings.FieldsSeq(keys) {
			quit = s.key(key, key)
		}
		if quit != want {
			t.Errorf("%s: %v", keys, quit)
		}
	}
}

func TestTopPauses(t *testing.T) {
	t.Parallel()
	s := screenOf(3)
	s.key("p", "p")
	before := s.view()
	s.Update(tick(topClock.Add(time.Minute)))
	s.Update(at(1, counterOf("other", 5, 1, 0)))
	s.Update(at(60, counterOf("another", 5, 1, 0)))
	if s.view() != before {
		t.Errorf("the view changed while paused:\n%s", ansi.Strip(s.view()))
	}
	s.key("p", "p")
	if !s.shows("another") || s.shows("other on") || !s.shows("03:05:05") {
		t.Errorf("the view did not resume:\n%s", ansi.Strip(s.view()))
	}
}

// TestTopExplainsMissingCounters includes a server that answered and is down later.
func TestTopExplainsMissingCounters(t *testing.T) {
	t.Parallel()
	s := newScreen(top{Session: &base.Session{Namespace: "Raven"}, targets: []target.Target{{Name: "north"}}, Sort: "name"})
	s.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	for _, step := range []struct {
		result pollResult
		want   string
	}{
		{pollResult{at: topClock, down: "no Redis answers", brief: "connection refused"}, "No server has answered yet."},
		{at(1), "No counter in this namespace yet"},
		{pollResult{at: topClock.Add(2 * time.Second), down: "no Redis answers", brief: "connection refused"}, "No counter in this namespace yet"},
	} {
		if s.Update(step.result); !s.shows(step.want) {
			t.Errorf("%q is not in\n%s", step.want, ansi.Strip(s.view()))
		}
	}
}

// The highlight lasts for a minute.
func TestTopHighlightsAJump(t *testing.T) {
	t.Parallel()
	row := func(s *screen) string {
		for line := range strings.Lines(s.view()) {
			if strings.HasPrefix(ansi.Strip(line), "orders") {
				return line
			}
		}
		return ""
	}
	s := screenOf(0)
	s.Update(at(0, counterOf("orders", 32, 1, 0)))
	if got := row(s); got == "" || strings.Contains(got, "\x1b[") {
		t.Errorf("before: %q", got)
	}
	s.Update(at(1, counterOf("orders", 1096, 2, 1)))
	s.Update(tick(topClock.Add(30 * time.Second)))
	if got := row(s); !strings.Contains(got, "\x1b[1;33m") {
		t.Errorf("after: %q", got)
	}
	s.Update(tick(topClock.Add(62 * time.Second)))
	if got := row(s); strings.Contains(got, "\x1b[") {
		t.Errorf("a minute later: %q", got)
	}
}

// The names of counters may contain control characters, since any client of Redis can write them.
func TestTopReplacesControlCharacters(t *testing.T) {
	t.Parallel()
	const evil = "a\x1b[2Jb\nc\u202ed"
	s := screenOf(0)
	l := at(0, counterOf(evil, 1, 1, 0))
	l.Version, l.Prefix = evil, evil
	s.Update(l)
	s.Update(at(1, counterOf(evil, 1, 2, 1)))
	s.Filter = "\x1b"
	s.arrange()
	if view := s.view(); strings.Contains(view, "\x1b[2J") || strings.Contains(view, "b\nc") || strings.Contains(view, "\u202e") {
		t.Errorf("%q", view)
	}
	if !s.shows("a?[2Jb?c?d") {
		t.Errorf("the name is missing:\n%s", ansi.Strip(s.view()))
	}
}

func TestTopDropsColumnsOnNarrowScreens(t *testing.T) {
	t.Parallel()
	s := screenOf(1)
	for width, want := range map[int]string{
		120: "COLLECTION SERVER MAX CEILING RESERVED/s RANGES EPOCH 2^31-1 2^53-1 2^63-1",
		82:  "COLLECTION SERVER MAX RESERVED/s RANGES EPOCH 2^31-1 2^53-1 2^63-1",
		74:  "COLLECTION SERVER MAX RESERVED/s EPOCH 2^31-1 2^53-1 2^63-1",
		64:  "COLLECTION SERVER MAX RESERVED/s EPOCH 2^31-1 2^53-1",
		54:  "COLLECTION SERVER MAX RESERVED/s EPOCH 2^31-1",
	} {
		s.Update(tea.WindowSizeMsg{Width: width, Height: 24})
		if got := strings.Join(strings.Fields(s.lines()[6]), " "); got != want {
			t.Errorf("%d columns: %q, want %q", width, got, want)
		}
		if !s.shows("q quit") {
			t.Errorf("%d columns: the key to quit is missing", width)
		}
	}
}
