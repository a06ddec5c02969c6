package term

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// Progress is how far work is that has an end.
type Progress struct {
	What  string        // is being done; may be ""
	Count int64         // items done
	Total int64         // items in all; 0 means unknown
	Unit  string        // of the items, for the rate; may be ""
	Share float64       // of the work that is done, from 0 to 1, where it is more than Count/Total; below 0 means unknown
	Rate  float64       // items a second
	Spent time.Duration // since the work began
	Note  string        // stands at the end; may be ""
}

const (
	minBar = 8 // columns; a narrower bar is left out
	maxBar = 30
	// A longer time left is not shown: so early it is a guess.
	maxLeft = 1000 * time.Hour
)

// Line returns one line of at most width columns with a bar, percent, count, rate and time left. Where there is no room for
// all, the bar becomes shorter and goes, then the count, and then what is being done.
func (p Progress) Line(width int) string {
	share := min(p.Share, 1)
	count, rate, percent, left := grouped.Number(p.Count), Brief(p.Rate), "", ""
	if p.Total > 0 {
		share = max(share, min(float64(p.Count)/float64(p.Total), 1))
		count += " of " + grouped.Number(p.Total)
	}
	if p.Unit != "" {
		count, rate = count+" "+p.Unit, rate+" "+p.Unit
	}
	if share >= 0 {
		percent = fmt.Sprintf("%3.0f%%", math.Floor(100*share)) // 100 % only when all is done
	}
	if seconds := p.Spent.Seconds() / share * (1 - share); seconds >= 0 && seconds <= maxLeft.Seconds() { // false where it is not a number
		left = time.Duration(seconds*1e9).Round(time.Second).String() + " left"
	}
	texts := []string{p.What, percent, count, rate + "/s", left, p.Note}
	for _, spare := range []int{2, 0} {
		if ansi.StringWidth(join(texts...)) > width {
			texts[spare] = ""
		}
	}
	if room := width - ansi.StringWidth(join(texts...)) - len(gap); share >= 0 && room >= minBar {
		texts[0] = join(texts[0], bar(share, min(room, maxBar), "░"))
	}
	return ansi.Truncate(join(texts...), width, "")
}

// join returns the texts that are not empty, with a gap between them.
func join(texts ...string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return text == "" }), gap)
}

// bar returns a share of width columns in blocks, to an eighth of a column, and the rest filled.
func bar(share float64, width int, rest string) string {
	const eighths = "▏▎▍▌▋▊▉"
	full := int(share * float64(8*width))
	text := strings.Repeat("█", full/8)
	if part := full % 8; part > 0 {
		text += string([]rune(eighths)[part-1])
	}
	return text + strings.Repeat(rest, width-ansi.StringWidth(text))
}

// Bar shows Progress on one line of a terminal; elsewhere it shows nothing. One goroutine uses it.
type Bar struct {
	*Live
	progress Progress
	began    time.Time
	drawn    time.Time
	marks    [2]mark // the rate is since the first of them
}

// mark is how much was done at a time.
type mark struct {
	at    time.Duration
	count int64
}

const (
	redrawEvery = 100 * time.Millisecond
	markEvery   = 2 * time.Second
)

// NewBar returns the bar of work that begins now, on a line that End removes. What, Total and Unit of p do not change.
func (l *Live) NewBar(p Progress) *Bar { return &Bar{Live: l, progress: p, began: time.Now()} }

// Add adds n items that are done.
func (b *Bar) Add(n int64) { b.Set(b.progress.Count+n, 0, "") }

// Set sets how many items are done, what share of the work that is, and a note.
func (b *Bar) Set(count int64, share float64, note string) {
	p, now := &b.progress, time.Now()
	if p.Total > 0 { // a scan may find more than there were
		count = min(count, p.Total)
	}
	p.Count, p.Share, p.Note, p.Spent = count, share, note, now.Sub(b.began)
	if now.Sub(b.drawn) < redrawEvery {
		return
	}
	b.drawn = now
	if p.Spent-b.marks[1].at >= markEvery {
		b.marks = [2]mark{b.marks[1], {p.Spent, count}}
	}
	p.Rate = float64(count-b.marks[0].count) / max((p.Spent-b.marks[0].at).Seconds(), 1e-9)
	b.Show(p.Line(b.width()))
}
