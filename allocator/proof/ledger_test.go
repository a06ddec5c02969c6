package proof

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/hilo-id/hilo/prefix"
)

func TestLedgerFindsEveryDuplicate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		runs []Run
		want []Repetition
	}{
		{"none", []Run{{1, 10, 1}, {11, 20, 2}, {21, 25, 1}}, nil},
		{"one number, to two workers", []Run{{1, 10, 1}, {10, 20, 2}}, []Repetition{{10, 10, []int{1, 2}}}},
		{"one number, to the same worker", []Run{{1, 10, 1}, {7, 7, 1}}, []Repetition{{7, 7, []int{1, 1}}}},
		{"one number, three times", []Run{{5, 5, 3}, {5, 5, 1}, {5, 5, 2}}, []Repetition{{5, 5, []int{1, 2, 3}}}},
		{"a range within another", []Run{{1, 100, 1}, {40, 60, 2}}, []Repetition{{40, 60, []int{1, 2}}}},
		{"a range over two others that it joins", []Run{{1, 50, 1}, {51, 100, 1}, {40, 60, 2}}, []Repetition{{40, 60, []int{1, 2}}}},
		{"ranges over each other", []Run{{1, 50, 1}, {30, 80, 2}, {45, 60, 3}}, []Repetition{
			{30, 44, []int{1, 2}}, {45, 50, []int{1, 2, 3}}, {51, 60, []int{2, 3}},
		}},
		{"the greatest number", []Run{{math.MaxInt64 - 1, math.MaxInt64, 1}, {math.MaxInt64, math.MaxInt64, 2}}, []Repetition{
			{math.MaxInt64, math.MaxInt64, []int{1, 2}},
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var j Ledger
			at := j.SeriesOf(prefix.ID{Collection: "orders"})
			for _, r := range test.runs {
				j.Add(at, r)
			}
			got := j.Series[at].Repetitions()
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("%v, want %v", got, test.want)
			}
			if surplus(got) != j.Duplicates {
				t.Errorf("the runs say %d, the bitmap %d", surplus(got), j.Duplicates)
			}
		})
	}
}

// surplus returns how many identifiers beyond the first of each the repetitions contain.
func surplus(found []Repetition) (all int64) {
	for _, r := range found {
		all += (r.High - r.Low + 1) * int64(len(r.Workers)-1)
	}
	return all
}

// TestLedgerAgreesWithACount adds random runs and counts each number.
func TestLedgerAgreesWithACount(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 100 {
		var j Ledger
		at := j.SeriesOf(prefix.ID{Collection: "orders"})
		given := make(map[int64][]int)
		for range 1 + random.IntN(30) {
			r := Run{Low: 1 + random.Int64N(300), Worker: random.IntN(4)}
			r.High = r.Low + random.Int64N(20)
			j.Add(at, r)
			for n := r.Low; n <= r.High; n++ {
				given[n] = append(given[n], r.Worker)
			}
		}
		for n, workers := range given {
			if slices.Sort(workers); len(workers) < 2 {
				delete(given, n)
			}
		}
		found := make(map[int64][]int)
		for _, r := range j.Series[at].Repetitions() {
			for n := r.Low; n <= r.High; n++ {
				found[n] = r.Workers
			}
		}
		if fmt.Sprint(found) != fmt.Sprint(given) {
			t.Fatalf("%v, want %v", found, given)
		}
		if got := surplus(j.Series[at].Repetitions()); got != j.Duplicates {
			t.Fatalf("the runs say %d, the bitmap %d", got, j.Duplicates)
		}
	}
}

func TestLedgerParsesTexts(t *testing.T) {
	t.Parallel()
	var j Ledger
	for worker, text := range []string{
		"orders/1", "orders/2", "orders/1-A", "orders/North/1", "companies/1", "orders/NORTH/1", "Orders/2",
	} {
		if err := j.AddText(text, "/", worker); err != nil {
			t.Error(err)
		}
	}
	if j.IDs != 7 || j.Duplicates != 2 || len(j.Series) != 4 {
		t.Errorf("%d ids, %d duplicates, %d series; letter case is to be ignored", j.IDs, j.Duplicates, len(j.Series))
	}
	for _, text := range []string{"orders/01", "orders", "orders/0", ""} {
		if j.AddText(text, "/", 1) == nil {
			t.Errorf("%q is taken for an identifier", text)
		}
	}
}
