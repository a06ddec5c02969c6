package bench

import (
	"cmp"
	"fmt"
	"runtime"

	"github.com/hilo-id/hilo/cli/internal/tally"
	"github.com/hilo-id/hilo/cli/internal/term"
)

// measured is what a bench found. The names of its fields in JSON are documented in the help, and stay.
type measured struct {
	Namespace       string      `json:"namespace"`
	Workers         int         `json:"workers"`
	Allocators      int         `json:"allocators"`
	TargetRate      int64       `json:"targetRate"`
	Warmup          float64     `json:"warmupSeconds"` // before what follows
	Interrupted     bool        `json:"interrupted"`
	Seconds         float64     `json:"seconds"`
	IDs             int64       `json:"ids"` // as the workers counted them
	PerSecond       float64     `json:"perSecond"`
	CallsThatWaited int64       `json:"callsThatWaited"` // each of them once or more
	RoundTripsPerID float64     `json:"roundTripsPerId"`
	BurntPerID      float64     `json:"burntPerId"`
	Latency         percentiles `json:"latencyNanoseconds"`
	Sampling        sampling    `json:"sampling"`
	tally.Report
	Compare *compared `json:"compare,omitempty"`
}

// compared is what one INCR per identifier makes of the same server.
type compared struct {
	IDs       int64       `json:"ids"`
	Seconds   float64     `json:"seconds"`
	PerSecond float64     `json:"perSecond"`
	Ratio     float64     `json:"ratio"` // so many times as many a second did Next give
	Failures  int64       `json:"failures"`
	Latency   percentiles `json:"latencyNanoseconds"`
}

func (b bench) print(m measured) error {
	allocators, wanted, warm := "one allocator", "at full speed", ""
	if m.Allocators > 1 {
		allocators = fmt.Sprintf("%d allocators", m.Allocators)
	}
	if m.TargetRate > 0 {
		wanted = fmt.Sprintf("of %d wanted", m.TargetRate)
	}
	if m.Warmup > 0 {
		warm = ", after a warm-up of " + term.Short(int64(m.Warmup*1e9))
	}
	var t term.Table
	t.Addf("workers:", "%d on %s", m.Workers, allocators)
	t.Addf("ids:", "%d in %s%s", m.IDs, term.Short(int64(m.Seconds*1e9)), warm)
	t.Addf("rate:", "%.0f ids/s, %s", m.PerSecond, wanted)
	t.Addf("round trips:", "%d, one for %d ids", m.Total.Ranges, m.IDs/max(m.Total.Ranges, 1))
	t.Addf("waits:", "%d, of %d calls; %d refills failed", m.Total.Waits, m.CallsThatWaited, m.Total.Failures)
	t.Addf("burnt:", "%.6g per id issued", m.BurntPerID)
	l := m.Latency
	for i, name := range []string{"p50:", "p99:", "p99.9:", "p99.99:", "greatest:"} {
		t.Add(name, term.Short([]int64{l.P50, l.P99, l.P999, l.P9999, l.Greatest}[i]))
	}
	if c := m.Compare; c != nil {
		t.Addf("INCR per id:", "%.0f ids/s, p50 %s, p99 %s, greatest %s",
			c.PerSecond, term.Short(c.Latency.P50), term.Short(c.Latency.P99), term.Short(c.Latency.Greatest))
		t.Addf("ratio:", "%.4g times as many with Next", c.Ratio)
	}
	t.Add("")
	left := fmt.Sprintf("The namespace %s is removed.", m.Namespace)
	if b.Keep {
		left = fmt.Sprintf("The counters in the namespace %s stay raised.", m.Namespace)
	}
	return cmp.Or(b.WriteTable(t), b.WriteTable(m.Table()), b.Prosef("\n%s\n%s\n%s\n", m.how(),
		"HELD was in hand at the end, before it was returned or burnt: what kill -9 would have burnt.", left))
}

// how says how the latency was measured.
func (m *measured) how() string {
	s := m.Sampling
	text := fmt.Sprintf("Latency is of one call in %d at random, %d of them, and of each call that waited, %d.", s.OneIn, s.Timed, s.Waited)
	if s.OneIn == 1 {
		text = fmt.Sprintf("Latency is of every call, %d, of which %d waited or were held up by one that did.", s.Timed+s.Waited, s.Waited)
	}
	text += fmt.Sprintf(" The clock is %s of each.\n", term.Short(s.Clock))
	if m.TargetRate > 0 {
		return text + "A call that came due while its worker waited counts from when it was due."
	}
	text += "At full speed a worker that waits asks for nothing meanwhile; --rate shows what callers that come on time see."
	if processors := runtime.GOMAXPROCS(0); m.Workers > processors {
		text += fmt.Sprintf("\nThe workers share %d processors: the greatest latencies may be of calls whose worker had to cede its own.", processors)
	}
	return text
}
