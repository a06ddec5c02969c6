package examine

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/term"
)

const (
	maxRates  = 60 // points of the rate over time
	rateTexts = 32 // columns of the text beside them
)

// rates returns the rate over time as at most n points of equal length.
func (r loadResult) rates(n int) []float64 {
	last := len(r.progress) - 1
	n = min(n, last)
	var rates []float64
	for i := range max(n, 0) {
		from, to := r.progress[i*last/n], r.progress[(i+1)*last/n]
		rates = append(rates, loadProgress{elapsed: to.elapsed - from.elapsed, ids: to.ids - from.ids}.perSecond())
	}
	return rates
}

// draw writes the picture if --svg names a file.
func (b *bench) draw(m measured, got loadResult) error {
	if b.SVG == "" {
		return nil
	}
	if err := os.WriteFile(b.SVG, []byte(picture(m, got)), 0o644); err != nil { //nolint:gosec // the picture is not secret
		return &exit.Error{Code: exit.Failed, Text: fmt.Sprintf("cannot write the picture: %v; name another file with --svg", err), Cause: err}
	}
	return nil
}

// picture returns the result as SVG, in the colours that the viewer's system prefers.
func picture(m measured, got loadResult) string {
	const (
		width, margin, line = 720, 24, 22
		barFrom, barWidth   = 110, 480
		rateHeight          = 72
	)
	var body strings.Builder
	y := margin
	text := func(x, y int, class, format string, values ...any) {
		fmt.Fprintf(&body, `<text x="%d" y="%d" class="%s">%s</text>`+"\n", x, y, class, fmt.Sprintf(format, values...))
	}
	style := term.Style{Group: true}
	text(margin, y+14, "large", "%s", style.Sprintf("%.0f ids/s", m.PerSecond))
	text(width-margin, y+14, "quiet end", "%s", style.Sprintf("%d ids, %d round trips, %s on %s", m.IDs, m.Total.Ranges,
		style.Plural(int64(m.Workers), "worker"), style.Plural(int64(m.Allocators), "allocator")))
	y += 48
	text(margin, y, "quiet", "latency of a call: p50 %s, p99 %s, p99.9 %s", term.Short(m.Latency.P50), term.Short(m.Latency.P99), term.Short(m.Latency.P999))
	for _, bin := range term.Bins(got.calls) {
		y += line
		text(barFrom-12, y, "end", "≤ %s", term.Short(int64(bin.Bound)))
		if bin.Count > 0 {
			fmt.Fprintf(&body, `<rect x="%d" y="%d" width="%.1f" height="14" rx="2" class="bar"/>`+"\n", barFrom, y-12, max(bin.Share*barWidth, 1))
		}
		text(width-margin, y, "end", "%s", style.Number(bin.Count))
	}
	if rates := got.rates(maxRates); len(rates) > 1 {
		y += 44
		greatest := slices.Max(rates)
		text(margin, y, "quiet", "rate over %s, at most %s ids/s", term.Short(got.elapsed.Nanoseconds()), term.Brief(greatest))
		y += rateHeight + 12
		points := []string{fmt.Sprintf("%d,%d", margin, y)}
		step := float64(width-2*margin) / float64(len(rates)-1)
		for i, rate := range rates {
			points = append(points, fmt.Sprintf("%.1f,%.1f", margin+float64(i)*step, float64(y)-rate/max(greatest, 1)*rateHeight))
		}
		fmt.Fprintf(&body, `<polygon points="%s %d,%d" class="rate"/>`+"\n", strings.Join(points, " "), width-margin, y)
	}
	return fmt.Sprintf(svgFrame, width, y+margin, body.String())
}

const svgFrame = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[2]d" width="%[1]d" height="%[2]d" role="img" aria-label="hilo bench">
<style>
svg { --ground: #fff; --ink: #16201f; --quiet: #556361; --accent: #0b6e69 }
@media (prefers-color-scheme: dark) { svg { --ground: #171f1e; --ink: #e6edec; --quiet: #9dadab; --accent: #5bc8be } }
text { fill: var(--ink); font: 13px system-ui, sans-serif; font-variant-numeric: tabular-nums }
.large { font-size: 22px; font-weight: 650 }
.quiet { fill: var(--quiet) }
.end { text-anchor: end }
.bar { fill: var(--accent) }
.rate { fill: var(--accent); fill-opacity: .25; stroke: var(--accent); stroke-width: 1.5 }
</style>
<rect width="100%%" height="100%%" rx="10" fill="var(--ground)"/>
%[3]s</svg>
`
