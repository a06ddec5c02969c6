// Package proof finds identifiers that were issued more than once. A Ledger records every issued identifier and its worker.
// It keeps a bit for each number, so that a billion numbers take 125 MB, and the runs of consecutive numbers of each worker,
// from which it lists the duplicates with their workers.
//
// It does no I/O, and imports prefix only. A Ledger is not safe for concurrent use.
package proof

import (
	"cmp"
	"maps"
	"slices"

	"github.com/hilo-id/hilo/prefix"
)

// Ledger records issued identifiers and finds exactly those that were issued more than once.
//
// It keeps each number twice: as a bit, which counts the duplicates at once, and in the runs of the workers, which identify
// them. The two counts have to agree.
type Ledger struct {
	Series     []*Series
	index      map[prefix.ID]int
	IDs        int64 // issued, duplicates included
	Duplicates int64 // issued before
}

// Series has the identifiers that differ in their number only, because they come from one counter.
type Series struct {
	prefix.ID  // as it was first seen, its Number zero
	Numbers    bitmap
	IDs        int64 // issued, duplicates included
	Duplicates int64 // issued before
	runs       []Run
	newest     map[int]int // index in runs of each worker's newest
}

// Run is a range of numbers that one worker was issued one after the other.
type Run struct {
	Low, High int64
	Worker    int
}

// Repetition is a range of numbers that were issued more than once, all of them to the same workers.
type Repetition struct {
	Low, High int64
	Workers   []int // one for each time
}

// SeriesOf returns the index of an identifier's series, and adds the series if it is new. Like many stores, it ignores
// letter case.
func (j *Ledger) SeriesOf(id prefix.ID) int {
	id.Number = 0
	folded := prefix.ID{
		Collection:   prefix.Fold(id.Collection),
		ServerPrefix: prefix.Fold(id.ServerPrefix),
		NodeTag:      prefix.Fold(id.NodeTag),
	}
	at, known := j.index[folded]
	if !known {
		if j.index == nil {
			j.index = make(map[prefix.ID]int)
		}
		at = len(j.Series)
		j.index[folded] = at
		j.Series = append(j.Series, &Series{ID: id, newest: make(map[int]int)})
	}
	return at
}

// Add records issued numbers, and returns how many of them were issued before.
func (j *Ledger) Add(at int, r Run) (again int64) {
	s := j.Series[at]
	again = s.Numbers.add(r.Low, r.High)
	s.IDs += r.High - r.Low + 1
	s.Duplicates += again
	j.IDs += r.High - r.Low + 1
	j.Duplicates += again
	if newest, ok := s.newest[r.Worker]; ok && s.runs[newest].High == r.Low-1 {
		s.runs[newest].High = r.High
		return again
	}
	s.newest[r.Worker] = len(s.runs)
	s.runs = append(s.runs, r)
	return again
}

// AddText records one issued identifier. It returns an error of prefix.Parse if text is none.
func (j *Ledger) AddText(text, separator string, worker int) error {
	id, err := prefix.Parse(text, separator)
	if err == nil {
		j.Add(j.SeriesOf(id), Run{Low: id.Number, High: id.Number, Worker: worker})
	}
	return err
}

// Repetitions returns all duplicates, in order. It sweeps over the workers' ranges from the least number to the greatest,
// and keeps those that contain the current one.
func (s *Series) Repetitions() []Repetition {
	if s.Duplicates == 0 {
		return nil
	}
	type step struct {
		at     uint64 // one past the greatest number is no int64
		worker int
		ends   bool
	}
	steps := make([]step, 0, 2*len(s.runs))
	for _, r := range s.runs {
		steps = append(steps, step{uint64(r.Low), r.Worker, false}, step{uint64(r.High) + 1, r.Worker, true})
	}
	slices.SortFunc(steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })

	var found []Repetition
	holders := make(map[int]int) // and how often each
	times := 0
	for i, step := range steps {
		if step.ends {
			times--
			if holders[step.worker]--; holders[step.worker] == 0 {
				delete(holders, step.worker)
			}
		} else {
			times++
			holders[step.worker]++
		}
		if times < 2 || steps[i+1].at == step.at {
			continue
		}
		found = appended(found, Repetition{int64(step.at), int64(steps[i+1].at - 1), workersOf(holders)})
	}
	return found
}

// appended appends r, or extends the last repetition if r continues it.
func appended(found []Repetition, r Repetition) []Repetition {
	if len(found) > 0 {
		last := &found[len(found)-1]
		if last.High == r.Low-1 && slices.Equal(last.Workers, r.Workers) {
			last.High = r.High
			return found
		}
	}
	return append(found, r)
}

func workersOf(holders map[int]int) []int {
	var all []int
	for _, worker := range slices.Sorted(maps.Keys(holders)) {
		all = append(all, slices.Repeat([]int{worker}, holders[worker])...)
	}
	return all
}

// Text returns the identifier of a number of the series.
func (s *Series) Text(number int64, separator string) string {
	id := s.ID
	id.Number = number
	return string(id.Append(nil, separator))
}
