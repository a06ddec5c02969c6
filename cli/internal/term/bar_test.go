package term

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

func TestProgressLineFitsItsWidth(t *testing.T) {
	t.Parallel()
	half := Progress{What: "writing", Count: 1500, Total: 3000, Unit: "ids", Rate: 12345, Spent: 30 * time.Second, Note: "away: north"}
	for _, test := range []struct {
		name     string
		progress Progress
		width    int
		want     string
	}{
		{
			"all", half, 120,
			"writing  ███████████████░░░░░░░░░░░░░░░   50%  1,500 of 3,000 ids  12.3k ids/s  30s left  away: north",
		},
		{"a shorter bar", half, 79, "writing  ████░░░░   50%  1,500 of 3,000 ids  12.3k ids/s  30s left  away: north"},
		{"no bar", half, 70, "writing   50%  1,500 of 3,000 ids  12.3k ids/s  30s left  away: north"},
		{"a bar for the count", half, 68, "writing  ████████▌░░░░░░░░   50%  12.3k ids/s  30s left  away: north"},
		{"no count", half, 55, "writing   50%  12.3k ids/s  30s left  away: north"},
		{"no name", half, 40, " 50%  12.3k ids/s  30s left  away: north"},
		{"truncated", half, 20, " 50%  12.3k ids/s  3"},
		{"a part of a column", Progress{Count: 1, Total: 240}, 80, "▏░░░░░░░░░░░░░░░░░░░░░░░░░░░░░    0%  1 of 240  0/s  0s left"},
		{"nothing done", Progress{Total: 3, Spent: time.Hour}, 40, "░░░░░░░░░░░░░░░░░░░░░    0%  0 of 3  0/s"},
		{"nearly all done", Progress{Count: 999, Total: 1000, Rate: 1}, 32, "████████▉   99%  1.00/s  0s left"},
		{"more than all done", Progress{Count: 5, Total: 4}, 40, "████████████  100%  5 of 4  0/s  0s left"},
		{"years left", Progress{Count: 1, Total: 1e9, Spent: time.Minute}, 40, "░░░░░░░░░    0%  1 of 1,000,000,000  0/s"},
		{"a known share", Progress{Count: 7, Share: 0.25, Spent: time.Minute}, 40, "███▊░░░░░░░░░░░   25%  7  0/s  3m0s left"},
		{"an unknown total", Progress{Count: 7000, Share: -1, Rate: 5, Unit: "ids", Spent: time.Minute}, 40, "7,000 ids  5.00 ids/s"},
	} {
		if got := test.progress.Line(test.width); got != test.want {
			t.Errorf("%s:\n got %q\nwant %q", test.name, got, test.want)
		}
	}
}

func TestProgressLineNeverExceedsItsWidth(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := Progress{
			What: rapid.StringN(0, 20, -1).Draw(t, "what"), Count: rapid.Int64Min(0).Draw(t, "count"), Total: rapid.Int64Min(0).Draw(t, "total"),
			Unit: rapid.SampledFrom([]string{"", "ids", "keys"}).Draw(t, "unit"), Share: rapid.Float64().Draw(t, "share"),
			Rate: rapid.Float64Range(0, 1e18).Draw(t, "rate"), Spent: time.Duration(rapid.Int64Min(0).Draw(t, "spent")),
		}
		width := rapid.IntRange(1, 200).Draw(t, "width")
		if line := p.Line(width); ansi.StringWidth(line) > width {
			t.Fatalf("got %d columns, want at most %d: %q", ansi.StringWidth(line), width, line)
		}
	})
}

func TestBarIsRedrawnAndRemoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		terminal := &fakeTerminal{columns: 50}
		b := Style{Live: true}.NewLive(terminal).NewBar(Progress{What: "seeding", Total: 100_000})
		for range 10 {
			time.Sleep(time.Second)
			b.Add(5000)
			b.Add(0) // not drawn, so soon after the last
		}
		if got, want := terminal.screen(), "seeding  ████████░░░░░░░░   50%  5.0k/s  10s left"; len(got) != 1 || got[0] != want {
			t.Errorf("got %q, want %q alone", got, want)
		}
		if got := strings.Count(terminal.String(), eraseLine); got != 10 {
			t.Errorf("drawn %d times, want 10", got)
		}
		fmt.Fprintln(b, "orders is exhausted")
		terminal.columns = 30
		time.Sleep(10 * time.Second)
		b.Add(0)
		if got := terminal.screen(); len(got) != 2 || got[0] != "orders is exhausted" || ansi.StringWidth(got[1]) > 29 {
			t.Errorf("got %q", got)
		}
		b.End()
		if got := terminal.screen(); len(got) != 2 || got[1] != "" {
			t.Errorf("after the end: got %q", got)
		}
	})
}

func TestBarShowsTheRateOfTheLastSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		terminal := &fakeTerminal{columns: 100}
		b := Style{Live: true}.NewLive(terminal).NewBar(Progress{})
		count := int64(0)
		for _, step := range []struct {
			perSecond int64
			want      string
		}{{1000, "  1.0k/s  "}, {0, "  0/s  "}, {200, "  200/s  "}} {
			for range 10 {
				time.Sleep(time.Second)
				count += step.perSecond
				b.Set(count, 0.5, "")
			}
			if got := terminal.screen()[0]; !strings.Contains(got, step.want) {
				t.Errorf("at %d/s: got %q, want %q in it", step.perSecond, got, step.want)
			}
		}
	})
}

func TestBarWritesNothingToAPipe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var pipe bytes.Buffer
		b := Style{}.NewLive(&pipe).NewBar(Progress{What: "seeding", Total: 10})
		for range 10 {
			time.Sleep(time.Second)
			b.Add(1)
		}
		b.End()
		if pipe.Len() > 0 {
			t.Errorf("got %q, want nothing", &pipe)
		}
	})
}
