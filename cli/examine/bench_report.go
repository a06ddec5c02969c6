package examine

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"

	"github.com/hilo-id/hilo/cli/internal/fleet"
	"github.com/hilo-id/hilo/cli/internal/term"
)

// measured is the result of a benchmark.
type measured struct {
	Namespace       string      `json:"namespace"`
	Workers         int         `json:"workers"`
	Allocators      int         `json:"allocators"`
	TargetRate      int64       `json:"targetRate"`    // 0 means full speed
	Warmup          float64     `json:"warmupSeconds"` // not included in the figures below
	Interrupted     bool        `json:"interrupted"`
	Seconds         float64     `json:"seconds"`
	IDs             int64       `json:"ids"` // counted by the workers
	PerSecond       float64     `json:"perSecond"`
	CallsThatWaited int64       `json:"callsThatWaited"` // at least once
	RoundTripsPerID float64     `json:"roundTripsPerId"`
	BurntPerID      float64     `json:"burntPerId"`
	Latency         percentiles `json:"latencyNanoseconds"`
	Sampling        sampling    `json:"sampling"`
	fleet.Report
	Compare *compared `json:"compare,omitempty"` // with --compare
}

// compared is the result of one INCR per identifier on the same server.
type compared struct {
	IDs       int64       `json:"ids"`
	Seconds   float64     `json:"seconds"`
	PerSecond float64     `json:"perSecond"`
	Ratio     float64     `json:"ratio"` // rate of Next divided by perSecond
	Failures  int64       `json:"failures"`
	Latency   percentiles `json:"latencyNanoseconds"`
}

// print writes the result and, on a terminal, the histogram and the rate over time.
func (b *bench) print(m measured, got loadResult) error {
	style := b.Style(b.Stdout)
	wanted := "at full speed"
	if m.TargetRate > 0 {
		wanted = style.Sprintf("of %d wanted", m.TargetRate)
	}
	result := style.Bold(style.Sprintf("%.0f ids/s", m.PerSecond)) + " " + wanted + "\n"
	if c := m.Compare; c != nil {
		result += style.Green(style.Sprintf("%.4g times", c.Ratio)) + style.Sprintf(" the rate of one INCR per id, %.0f ids/s\n", c.PerSecond)
	}
	if m.Total.Failures > 0 {
		result += style.Red(style.Plural(m.Total.Failures, "refill")) + " failed\n"
	}
	err := cmp.Or(b.Prosef("%s\n", result), b.printFigures(m))
	if columns := term.Columns(b.Stdout); columns > 0 {
		err = cmp.Or(err, b.WriteTable(style.Histogram(got.calls, columns)), b.Printf("\n"))
		if rates := got.rates(min(columns-rateTexts, maxRates)); len(rates) > 1 {
			err = cmp.Or(err, b.Printf("%s ids/s over time, at most %s\n\n", term.Blocks(rates), term.Brief(slices.Max(rates))))
		}
	}
	err = cmp.Or(err, b.WriteTable(m.Table(style)))
	if b.Keep {
		err = cmp.Or(err, b.Prosef("\nThe counters in the namespace %s stay raised.\n", m.Namespace))
	}
	if b.Explain {
		err = cmp.Or(err, b.Prosef("\n%s", b.explain(m)))
	}
	return err
}

func (b *bench) printFigures(m measured) error {
	style, t, warm := b.Style(b.Stdout), b.Table(), ""
	if m.Warmup > 0 {
		warm = ", warm-up " + term.Short(int64(m.Warmup*1e9))
	}
	t.Addf("ids:", "%d in %s%s", m.IDs, term.Short(int64(m.Seconds*1e9)), warm)
	t.Addf("workers:", "%d on %s", m.Workers, style.Plural(int64(m.Allocators), "allocator"))
	t.Addf("round trips:", "%d, one for %d ids", m.Total.Ranges, m.IDs/max(m.Total.Ranges, 1))
	t.Addf("waits:", "%d in %s", m.Total.Waits, style.Plural(m.CallsThatWaited, "call"))
	t.Addf("burnt:", "%.4g for each id", m.BurntPerID)
	l := m.Latency
	t.Addf("latency:", "p50 %s, p99 %s, p99.9 %s", term.Short(l.P50), term.Short(l.P99), term.Short(l.P999))
	t.Addf("", "p99.99 %s, greatest %s", term.Short(l.P9999), term.Short(l.Greatest))
	if c := m.Compare; c != nil {
		t.Addf("INCR per id:", "p50 %s, p99 %s", term.Short(c.Latency.P50), term.Short(c.Latency.P99))
		t.Addf("", "greatest %s", term.Short(c.Latency.Greatest))
	}
	t.Add("")
	return b.WriteTable(t)
}

// explain describes how the figures were measured.
func (b *bench) explain(m measured) string {
	style, s := b.Style(b.Stdout), m.Sampling
	text := style.Sprintf("Latency is of one call in %d at random, %d of them, and of all %d calls that waited.", s.OneIn, s.Timed, s.Waited)
	if s.OneIn == 1 {
		text = style.Sprintf("Latency is of all %d calls, of which %d waited or came due while their worker waited.", s.Timed+s.Waited, s.Waited)
	}
	text += fmt.Sprintf(" Reading the clock adds %s to each.\n", term.Short(s.Clock))
	if m.TargetRate > 0 {
		text += "A call that came due while its worker waited is timed from when it was due.\n"
	} else {
		text += "At full speed a worker that waits makes no other calls meanwhile, which hides waits (coordinated omission); --rate shows them.\n"
		if processors := runtime.GOMAXPROCS(0); m.Workers > processors {
			text += style.Sprintf("The workers share %s: the greatest latencies may be of calls whose worker was suspended.\n",
				style.Plural(int64(processors), "processor"))
		}
	}
	text += "HELD counts the numbers in hand at the end, before they were returned or burnt; kill -9 would have burnt them all.\n"
	if !b.Keep {
		text += fmt.Sprintf("The namespace %s is removed.\n", m.Namespace)
	}
	return text
}
