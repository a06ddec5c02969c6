package cli

import (
	"cmp"
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
)

// shiftReport is what became of a shift. The names of its fields in JSON are documented in the help, and stay.
type shiftReport struct {
	Worker      string        `json:"worker"`  // host, process id and something random: what its documents say
	Stopped     string        `json:"stopped"` // signal, count, duration, failed
	Seconds     float64       `json:"seconds"`
	IDs         int64         `json:"ids"` // taken
	PerSecond   float64       `json:"perSecond"`
	Stored      int64         `json:"stored"`      // as documents
	Duplicates  int64         `json:"duplicates"`  // whose document was there already: given twice
	Unstored    int64         `json:"unstored"`    // taken and not stored before the end
	NotReturned int64         `json:"notReturned"` // in hand at the end, and gaps now
	Errors      shiftErrors   `json:"errors"`      // attempts that failed and were made again
	Prefixes    []prefixCount `json:"prefixes"`    // what servers added to how many
	Total       tallies       `json:"total"`
	Collections []benched     `json:"collections"`
}

type shiftErrors struct {
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
func (s *shift) report(stopped string, took time.Duration, before, after allocator.Stats) shiftReport {
	r := shiftReport{
		Worker:    s.name,
		Stopped:   stopped,
		Seconds:   took.Seconds(),
		IDs:       s.taken.Load(),
		PerSecond: float64(s.taken.Load()) / max(took.Seconds(), 1e-9),
		Unstored:  s.unstored.Load(),
		Prefixes:  []prefixCount{},
		Errors:    shiftErrors{Servers: s.serverErrors()},
	}
	if s.documents != nil {
		r.Stored, r.Duplicates = s.documents.stored.Load(), s.documents.duplicates.Load()
		r.Errors.Documents = s.documents.trouble.errors.Load()
	}
	for adds, n := range s.adds {
		if n > 0 {
			r.Prefixes = append(r.Prefixes, prefixCount{adds.ServerPrefix, adds.NodeTag, n})
		}
	}
	slices.SortFunc(r.Prefixes, func(x, y prefixCount) int {
		return cmp.Or(cmp.Compare(x.Prefix, y.Prefix), cmp.Compare(x.Tag, y.Tag))
	})
	was, is := tallyStats(before), tallyStats(after)
	r.Collections = make([]benched, 0, len(s.Collections))
	for _, name := range s.Collections {
		t := is[name]
		t.Held = t.Reserved - t.Issued - was[name].Burnt // with a range that was still under way
		r.NotReturned += t.Held - t.Returned
		r.Collections = append(r.Collections, benched{name, t})
		r.Total.add(t)
	}
	return r
}

// tallyStats is by name what an allocator counted.
func tallyStats(stats allocator.Stats) map[string]tallies {
	all := make(map[string]tallies)
	for _, s := range stats.Collections {
		all[s.Name] = tallies{s.Ranges, s.Reserved, s.Issued, s.Returned, s.Burnt, s.Held, s.Waits, s.Failures}
	}
	return all
}

// verdict is why the exit code is not 0: a duplicate before all else.
func (s *shift) verdict(found shiftReport, err error) error {
	switch {
	case found.Duplicates > 0:
		return &failure{code: exitFault, text: fmt.Sprintf("%s given twice: see DUPLICATE ID in the log for which, "+
			"and run hilo doctor", was(found.Duplicates))}
	case err != nil:
		return after(err, found.IDs)
	case found.Unstored > 0:
		return &failure{code: exitUnavailable, text: fmt.Sprintf("%s not stored before the end: their Redis at %s did not serve",
			was(found.Unstored), s.Documents.addr)}
	}
	return nil
}

func was(n int64) string {
	if n == 1 {
		return "1 id was"
	}
	return fmt.Sprintf("%d ids were", n)
}

func (w *fleetWorker) show(r shiftReport) error {
	if w.JSON {
		return w.writeJSON(r)
	}
	out := tabwriter.NewWriter(w.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "worker:\t%s\n", r.Worker)
	fmt.Fprintf(out, "ended by:\t%s after %s\n", r.Stopped, short(int64(r.Seconds*1e9)))
	fmt.Fprintf(out, "ids:\t%d, %.4g/s\n", r.IDs, r.PerSecond)
	for _, p := range r.Prefixes {
		fmt.Fprintf(out, "  with %s:\t%d\n", describePrefix(p), p.IDs)
	}
	if w.Documents != nil {
		fmt.Fprintf(out, "documents:\t%d stored, %d duplicates, %d not stored\n", r.Stored, r.Duplicates, r.Unstored)
	}
	fmt.Fprintf(out, "returned:\t%d of %d in hand; %d could not be and are gaps\n", r.Total.Returned, r.Total.Held, r.NotReturned)
	fmt.Fprintf(out, "errors:\t%d of servers, %d of documents\n", r.Errors.Servers, r.Errors.Documents)
	fmt.Fprintln(out)
	if err := out.Flush(); err != nil {
		return written(err)
	}
	return w.writeTallies(r.Collections, r.Total)
}

func describePrefix(p prefixCount) string {
	adds := prefix.Server{ServerPrefix: p.Prefix, NodeTag: p.Tag}
	switch {
	case adds.IsZero():
		return "no prefix"
	case p.Tag == "":
		return "prefix " + p.Prefix
	case p.Prefix == "":
		return "tag " + p.Tag
	}
	return "prefix " + p.Prefix + " and tag " + p.Tag
}
