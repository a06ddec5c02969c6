package faults

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestTheJudgeFindsEveryPlantedDuplicate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		claims []Claim
		twice  int64
	}{
		{"nothing", nil, 0},
		{"one range", []Claim{{"a", 1, 32, "x"}}, 0},
		{"ranges side by side", []Claim{{"a", 33, 64, "y"}, {"a", 1, 32, "x"}}, 0},
		{"gaps", []Claim{{"a", 100, 110, "y"}, {"a", 1, 32, "x"}}, 0},
		{"equal numbers under two prefixes", []Claim{{"a", 1, 32, "x"}, {"b", 1, 32, "y"}}, 0},
		{"one number of two ranges", []Claim{{"a", 1, 32, "x"}, {"a", 32, 64, "y"}}, 1},
		{"a range and one number of it", []Claim{{"a", 1, 32, "x"}, {"a", 7, 7, "y"}}, 1},
		{"the same range twice", []Claim{{"a", 1, 32, "x"}, {"a", 1, 32, "y"}}, 32},
		{"twice by the same worker", []Claim{{"a", 5, 5, "x"}, {"a", 5, 5, "x"}}, 1},
		{"a long one that others stand in", []Claim{{"a", 1, 100, "x"}, {"a", 10, 20, "y"}, {"a", 30, 40, "z"}}, 22},
		{"behind the end of a shorter one", []Claim{{"a", 1, 100, "x"}, {"a", 10, 20, "y"}, {"a", 90, 110, "z"}}, 22},
		{"the greatest numbers", []Claim{{"a", 1<<63 - 2, 1<<63 - 1, "x"}, {"a", 1<<63 - 1, 1<<63 - 1, "y"}}, 1},
		{"in the second space alone", []Claim{{"a", 1, 100, "x"}, {"b", 50, 50, "y"}, {"b", 50, 50, "z"}}, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var j Judge
			j.Add(test.claims...)
			v := j.Verdict()
			if v.Twice != test.twice || (v.Twice > 0) != strings.Contains(v.String(), " by ") {
				t.Errorf("%v, want %d", v, test.twice)
			}
		})
	}
}

func TestTheJudgeAgreesWithCounting(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 0))
		var j Judge
		seen := map[int64]bool{}
		var twice, used int64
		for range random.IntN(20) {
			low := random.Int64N(60)
			high := low + random.Int64N(10)
			j.Add(Claim{"a", low, high, "x"})
			for n := low; n <= high; n++ {
				used++
				if seen[n] {
					twice++
				}
				seen[n] = true
			}
		}
		if v := j.Verdict(); v.Twice != twice || j.Used() != used {
			t.Fatalf("seed %d: %d of %d, want %d of %d", seed, v.Twice, j.Used(), twice, used)
		}
	}
}
