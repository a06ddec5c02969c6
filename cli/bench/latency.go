package bench

import (
	"cmp"
	"maps"
	"math"
	"math/bits"
	"slices"
	"time"
)

// histogram counts calls.
type histogram map[place]int64

// place is where a histogram counts a call.
type place struct {
	latency time.Duration // rounded
	waited  bool          // for a number, or for a call that did; those that found one in hand are a sample
}

// rounded is a latency, up to 1.6 percent too long, so that a histogram has few places: from 128 ns on only its first seven
// bits count.
func rounded(d time.Duration) time.Duration {
	d = max(d, 0)
	return d | (1<<max(bits.Len64(uint64(d))-7, 0) - 1)
}

// percentiles are in nanoseconds. The p of them are at most 1.6 percent above the truth; Greatest is exact.
type percentiles struct {
	P50      int64 `json:"p50"`
	P99      int64 `json:"p99"`
	P999     int64 `json:"p999"`
	P9999    int64 `json:"p9999"`
	Greatest int64 `json:"greatest"` // of the calls that were timed
}

// sampling is how the percentiles came about.
type sampling struct {
	OneIn  int   `json:"oneIn"`            // of the calls that found a number in hand, one in so many was timed
	Timed  int64 `json:"timed"`            // how many that were
	Waited int64 `json:"waited"`           // calls that waited or were held up by one that did: each of them was timed
	Clock  int64 `json:"clockNanoseconds"` // what reading the clock adds to each
}

// summarize gives percentiles over all calls: each one in the sample stands for as many as were not timed.
func summarize(seen histogram, calls int64, greatest time.Duration) (percentiles, sampling) {
	var s sampling
	for at, n := range seen {
		if at.waited {
			s.Waited += n
		} else {
			s.Timed += n
		}
	}
	weights := map[bool]float64{true: 1, false: float64(calls-s.Waited) / float64(max(s.Timed, 1))}
	total := float64(s.Waited) + float64(s.Timed)*weights[false]
	places := slices.SortedFunc(maps.Keys(seen), func(a, b place) int { return cmp.Compare(a.latency, b.latency) })
	at := func(share float64) int64 {
		rank, below := math.Ceil(share*total), 0.0
		for _, at := range places {
			// Half a call less, since the weights are not exact.
			if below += float64(seen[at]) * weights[at.waited]; below >= rank-0.5 {
				return int64(min(at.latency, greatest))
			}
		}
		return int64(greatest)
	}
	return percentiles{at(0.5), at(0.99), at(0.999), at(0.9999), int64(greatest)}, s
}

// clockCost is what timing a call adds to its time: the median of a clock that is read twice.
func clockCost() time.Duration {
	all := make([]time.Duration, 1001)
	start := time.Now()
	for i := range all {
		began := time.Since(start)
		all[i] = time.Since(start) - began
	}
	slices.Sort(all)
	return all[len(all)/2]
}
