package run

import (
	"cmp"
	"slices"
	"time"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/term"
	"github.com/hilo-id/hilo/cli/internal/workload"
)

type report struct {
	Worker      string        `json:"worker"`  // host, process id and random letters
	Stopped     string        `json:"stopped"` // signal, count, duration or failed
	Seconds     float64       `json:"seconds"`
	IDs         int64         `json:"ids"` // taken
	PerSecond   float64       `json:"perSecond"`
	NotReturned int64         `json:"notReturned"` // numbers in hand at the end that are a gap now
	Errors      int64         `json:"errors"`      // attempts that failed and were repeated
	Prefixes    []prefixCount `json:"prefixes"`    // number of ids by prefix and tag
	workload.Report
}

type prefixCount struct {
	Prefix string `json:"prefix"`
	Tag    string `json:"tag"`
	IDs    int64  `json:"ids"`
}

// report returns the result. before and after are the statistics of the allocator before and after Close.
func (w *worker) report(stopped string, took time.Duration, before, after allocator.Stats) report {
	r := report{
		Worker:   w.name,
		Stopped:  stopped,
		Seconds:  took.Seconds(),
		Errors:   w.failures.Load(),
		Prefixes: []prefixCount{},
		Report:   workload.Between(w.Collections, allocator.Stats{}, before, after),
	}
	r.NotReturned = r.Total.Held - r.Total.Returned
	for server, n := range w.byPrefix {
		r.IDs += n
		r.Prefixes = append(r.Prefixes, prefixCount{server.ServerPrefix, server.NodeTag, n})
	}
	r.PerSecond = float64(r.IDs) / max(took.Seconds(), 1e-9)
	slices.SortFunc(r.Prefixes, func(x, y prefixCount) int {
		return cmp.Or(cmp.Compare(x.Prefix, y.Prefix), cmp.Compare(x.Tag, y.Tag))
	})
	return r
}

func (w *worker) print(r report) error {
	t := w.Table()
	t.Add("worker:", r.Worker)
	t.Addf("ended by:", "%s after %s", r.Stopped, term.Short(int64(r.Seconds*1e9)))
	t.Addf("ids:", "%d, %.0f ids/s", r.IDs, r.PerSecond)
	for _, p := range r.Prefixes {
		t.Addf("  with "+describePrefix(p)+":", "%d", p.IDs)
	}
	t.Addf("returned:", "%d of %d in hand; %d are a gap", r.Total.Returned, r.Total.Held, r.NotReturned)
	t.Addf("errors:", "%d", r.Errors)
	t.Add("")
	return cmp.Or(w.WriteTable(t), w.WriteTable(r.Table(t.Style)))
}

func describePrefix(p prefixCount) string {
	switch {
	case p.Prefix+p.Tag == "":
		return "no prefix"
	case p.Tag == "":
		return "prefix " + p.Prefix
	case p.Prefix == "":
		return "tag " + p.Tag
	}
	return "prefix " + p.Prefix + " and tag " + p.Tag
}
