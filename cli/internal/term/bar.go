package term

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// Progress is the progress of an operation. What, Unit and Note may be empty.
type Progress struct {
	What  string        // name of the operation
	Count int64         // items completed
	Total int64         // 0 means unknown
	Unit  string        // name of the items
	Share float64       // completed share from 0 to 1, if larger than Count/Total; negative means unknown
	Rate  float64       // items a second
	Spent time.Duration // time since the operation began
	Note  string        // shown at the end of the line
}

const (
	minBar = 8 // columns; a narrower bar is omitted
	maxBar = 30
	// A longer time left is a guess, and is not shown.
	maxLeft = 1000 * time.Hour
)

// Line formats p in at most width columns. If they do not suffice, the bar is shortened and then omitted, followed by the
// count and the name of the operation.
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
		percent = fmt.Sprintf("%3.0f%%", math.Floor(100*share)) // 100 % only at the end
	}
	if seconds := p.Spent.Seconds() / share * (1 - share); seconds >= 0 && seconds <= maxLeft.Seconds() { // false for NaN
		left = time.Duration(seconds*1e9).Round(time.Second).String() + " left"
	}
	texts := []string{p.What, percent, count, rate + "/s", left, p.Note}
	for _, spare := range []int{2, 0} {
		if ansi.StringWidth(join(texts...)) > width {
			texts[spare] = ""
		}
	}
	if room := width - ansi.StringWidth(join(texts...)) - len(gap); share >= 0 && room >= minBar {
		texts[0] = join(texts[0], bar(share, min(room, maxBar)))
	}
	return ansi.Truncate(join(texts...), width, "")
}

// join joins the texts that are not empty.
func join(texts ...string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return text == "" }), gap)
}

// bar draws a share of width columns, accurate to an eighth of a column, and shades the others.
func bar(share float64, width int) string {
	const eighths = "▏▎▍▌▋▊▉"
	full := int(share * float64(8*width))
	text := strings.Repeat("█", full/8)
	if part := full % 8; part > 0 {
		text += string([]rune(eighths)[part-1])
	}
	return text + strings.Repeat("░", width-ansi.StringWidth(text))
}

// Bar shows Progress in the status line of a Live. It is not safe for concurrent use.
type Bar struct {
	*Live
	progress Progress
	began    time.Time
	drawn    time.Time
	samples  [2]sample // the rate is computed since the first
}

// sample is the number of items completed at a time.
type sample struct {
	at    time.Duration
	count int64
}

const (
	redrawInterval = 100 * time.Millisecond
	sampleInterval = 2 * time.Second
)

// NewBar returns the bar of an operation that begins now. End removes it.
func (l *Live) NewBar(p Progress) *Bar { return &Bar{Live: l, progress: p, began: time.Now()} }

// Add adds n completed items.
func (b *Bar) Add(n int64) { b.Set(b.progress.Count+n, 0, "") }

// Set sets the number of completed items, their share of the work, and the note.
func (b *Bar) Set(count int64, share float64, note string) {
	p, now := &b.progress, time.Now()
	if p.Total > 0 { // a scan may find keys that were added since it began
		count = min(count, p.Total)
	}
	p.Count, p.Share, p.Note, p.Spent = count, share, note, now.Sub(b.began)
	if now.Sub(b.drawn) < redrawInterval {
		return
	}
	b.drawn = now
	if p.Spent-b.samples[1].at >= sampleInterval {
		b.samples = [2]sample{b.samples[1], {p.Spent, count}}
	}
	p.Rate = float64(count-b.samples[0].count) / max((p.Spent-b.samples[0].at).Seconds(), 1e-9)
	b.Show(p.Line(b.width()))
}
