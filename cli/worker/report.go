package worker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/tally"
	"github.com/hilo-id/hilo/cli/internal/term"
)

// report is what became of a worker. The names of its fields in JSON are documented in the help, and stay.
type report struct {
	Worker      string        `json:"worker"`  // host, process id and something random: what its documents say
	Stopped     string        `json:"stopped"` // signal, count, duration, failed
	Seconds     float64       `json:"seconds"`
	IDs         int64         `json:"ids"` // taken
	PerSecond   float64       `json:"perSecond"`
	Stored      int64         `json:"stored"`      // as documents
	Duplicates  int64         `json:"duplicates"`  // whose document was there already: given twice
	Unstored    int64         `json:"unstored"`    // taken and not stored before the end
	NotReturned int64         `json:"notReturned"` // in hand at the end, and gaps now
	Errors      errorCounts   `json:"errors"`      // attempts that failed and were made again
	Prefixes    []prefixCount `json:"prefixes"`    // what servers added to how many
	tally.Report
}

type errorCounts struct {
	Servers   int64 `json:"servers"`
	Documents int64 `json:"documents"`
}

// prefixCount is how many identifiers came from a server, known by what it adds.
type prefixCount struct {
	Prefix string `json:"prefix"`
	Tag    string `json:"tag"`
	IDs    int64  `json:"ids"`
}

// report puts together what the allocator said before and after its end.
func (w *worker) report(stopped string, took time.Duration, before, after allocator.Stats) report {
	r := report{
		Worker:     w.name,
		Stopped:    stopped,
		Seconds:    took.Seconds(),
		Stored:     w.stored.Load(),
		Duplicates: w.duplicates.Load(),
		Unstored:   w.unstored.Load(),
		Errors:     errorCounts{w.failures.Load(), w.storeErrors.Load()},
		Prefixes:   []prefixCount{},
		Report:     tally.Between(w.Collections, nil, []allocator.Stats{before}, []allocator.Stats{after}),
	}
	r.NotReturned = r.Total.Held - r.Total.Returned
	for adds, n := range w.adds {
		r.IDs += n
		r.Prefixes = append(r.Prefixes, prefixCount{adds.ServerPrefix, adds.NodeTag, n})
	}
	r.PerSecond = float64(r.IDs) / max(took.Seconds(), 1e-9)
	slices.SortFunc(r.Prefixes, func(x, y prefixCount) int {
		return cmp.Or(cmp.Compare(x.Prefix, y.Prefix), cmp.Compare(x.Tag, y.Tag))
	})
	return r
}

// verdict is why the exit code is not 0: a duplicate before all else.
func (w *worker) verdict(found report, err error) error {
	switch {
	case found.Duplicates > 0:
		return &exit.Error{Code: exit.Fault, Text: fmt.Sprintf("%s given twice: see DUPLICATE ID in the log for which, "+
			"and run hilo doctor", was(found.Duplicates))}
	case err != nil:
		return exit.After(err, found.IDs)
	case found.Unstored > 0:
		return &exit.Error{Code: exit.Unavailable, Text: fmt.Sprintf("%s not stored before the end: their Redis at %s did not serve",
			was(found.Unstored), w.Documents.Addr)}
	}
	return nil
}

func was(n int64) string {
	if n == 1 {
		return "1 id was"
	}
	return fmt.Sprintf("%d ids were", n)
}

func (w *worker) print(r report) error {
	var t term.Table
	t.Add("worker:", r.Worker)
	t.Add("ended by:", fmt.Sprintf("%s after %s", r.Stopped, term.Short(int64(r.Seconds*1e9))))
	t.Add("ids:", fmt.Sprintf("%d, %.4g/s", r.IDs, r.PerSecond))
	for _, p := range r.Prefixes {
		t.Add(fmt.Sprintf("  with %s:", describePrefix(p)), fmt.Sprint(p.IDs))
	}
	if w.Documents != nil {
		t.Add("documents:", fmt.Sprintf("%d stored, %d duplicates, %d not stored", r.Stored, r.Duplicates, r.Unstored))
	}
	t.Add("returned:", fmt.Sprintf("%d of %d in hand; %d could not be and are gaps", r.Total.Returned, r.Total.Held, r.NotReturned))
	t.Add("errors:", fmt.Sprintf("%d of servers, %d of documents", r.Errors.Servers, r.Errors.Documents))
	t.Add("")
	return cmp.Or(w.WriteTable(t), w.WriteTable(r.Table()))
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
