package cli

import (
	"cmp"
	"maps"
	"slices"

	"github.com/hilo-id/hilo/prefix"
)

// judge is told every identifier that was handed out, and knows exactly which of them were handed out more than once.
//
// It keeps each number twice: as a bit, which tells whether it was there, and in the runs of the workers, which tell
// whose it was. What the two say of duplicates has to agree.
type judge struct {
	series []*series
	index  map[prefix.ID]int
	ids    int64 // handed out, those twice included
	again  int64 // of them, that had been handed out before: the duplicates
}

// series is all identifiers that differ in nothing but their number: one counter gives them.
type series struct {
	prefix.ID // as it was first seen, its Number zero
	numbers   bitmap
	ids       int64 // handed out, those twice included
	again     int64 // of them, that had been handed out before
	runs      []run
	newest    map[int]int // where in runs the newest of each worker is
}

// run is consecutive numbers that one worker was given one after the other.
type run struct {
	Low, High int64
	Worker    int
}

// repetition is consecutive numbers that were handed out more than once, all of them to the same workers.
type repetition struct {
	Low, High int64
	Workers   []int // one for each time
}

// of finds the series of an identifier. As many stores do, it ignores letter case.
func (j *judge) of(id prefix.ID) int {
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
		at = len(j.series)
		j.index[folded] = at
		j.series = append(j.series, &series{ID: id, newest: make(map[int]int)})
	}
	return at
}

// take notes numbers that were handed out, and gives how many of them had been handed out before.
func (j *judge) take(at int, r run) (again int64) {
	s := j.series[at]
	again = s.numbers.add(r.Low, r.High)
	s.ids += r.High - r.Low + 1
	s.again += again
	j.ids += r.High - r.Low + 1
	j.again += again
	if newest, ok := s.newest[r.Worker]; ok && s.runs[newest].High == r.Low-1 {
		s.runs[newest].High = r.High
		return again
	}
	s.newest[r.Worker] = len(s.runs)
	s.runs = append(s.runs, r)
	return again
}

// text notes one identifier as it was handed out. The error says that it is none.
func (j *judge) text(text, separator string, worker int) error {
	id, err := prefix.Parse(text, separator)
	if err == nil {
		j.take(j.of(id), run{Low: id.Number, High: id.Number, Worker: worker})
	}
	return err
}

// repetitions are all duplicates, in order. It goes through what the workers were given from the least number to the
// greatest, and holds who has the current one.
func (s *series) repetitions() []repetition {
	if s.again == 0 {
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

	var found []repetition
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
		found = appended(found, repetition{int64(step.at), int64(steps[i+1].at - 1), workersOf(holders)})
	}
	return found
}

// appended joins what goes on as it was.
func appended(found []repetition, r repetition) []repetition {
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
