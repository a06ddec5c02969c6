package examine

import (
	"cmp"

	"github.com/hilo-id/hilo/cli/internal/term"
)

// measured is the result of a benchmark.
type measured struct {
	Namespace       string              `json:"namespace"`
	Workers         int                 `json:"workers"`
	TargetRate      int64               `json:"targetRate"`    // 0 means full speed
	Warmup          float64             `json:"warmupSeconds"` // not included in the figures below
	Interrupted     bool                `json:"interrupted"`
	Seconds         float64             `json:"seconds"`
	IDs             int64               `json:"ids"` // counted by the workers
	PerSecond       float64             `json:"perSecond"`
	CallsThatWaited int64               `json:"callsThatWaited"` // at least once
	RoundTripsPerID float64             `json:"roundTripsPerId"`
	BurntPerID      float64             `json:"burntPerId"`
	Latency         percentiles         `json:"latencyNanoseconds"`
	Sampling        sampling            `json:"sampling"`
	Total           tallies             `json:"total"`
	Collections     []collectionTallies `json:"collections"` // the one of the benchmark
}

// print writes the result.
func (b *bench) print(m measured) error {
	style := b.Style(b.Stdout)
	wanted := "at full speed"
	if m.TargetRate > 0 {
		wanted = style.Sprintf("of %d wanted", m.TargetRate)
	}
	result := style.Bold(style.Sprintf("%.0f ids/s", m.PerSecond)) + " " + wanted + "\n"
	if m.Total.Failures > 0 {
		result += style.Red(style.Plural(m.Total.Failures, "refill")) + " failed\n"
	}
	err := cmp.Or(b.Prosef("%s\n", result), b.printFigures(m), b.WriteTable(m.Collections[0].table(style)))
	if b.Keep {
		err = cmp.Or(err, b.Prosef("\nThe counter in the namespace %s stays raised.\n", m.Namespace))
	}
	return err
}

func (b *bench) printFigures(m measured) error {
	t, warm := b.Table(), ""
	if m.Warmup > 0 {
		warm = ", warm-up " + term.Short(int64(m.Warmup*1e9))
	}
	t.Addf("ids:", "%d in %s%s", m.IDs, term.Short(int64(m.Seconds*1e9)), warm)
	t.Addf("workers:", "%d", m.Workers)
	t.Addf("round trips:", "%d, one for %d ids", m.Total.Ranges, m.IDs/max(m.Total.Ranges, 1))
	t.Addf("waits:", "%d in %s", m.Total.Waits, t.Style.Plural(m.CallsThatWaited, "call"))
	t.Addf("burnt:", "%.4g for each id", m.BurntPerID)
	l := m.Latency
	t.Addf("latency:", "p50 %s, p99 %s, p99.9 %s", term.Short(l.P50), term.Short(l.P99), term.Short(l.P999))
	t.Addf("", "p99.99 %s, greatest %s", term.Short(l.P9999), term.Short(l.Greatest))
	t.Add("")
	return b.WriteTable(t)
}
