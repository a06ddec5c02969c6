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
	bucket int  // of its latency
	waited bool // for a number, or for a call that did; those that found one in hand are a sample
}

// bucketsPerDoubling is how fine buckets are: 1 ns wide below 128 ns, from there so many to each doubling, so that a latency
// is known to 1.6 percent.
const bucketsPerDoubling = 64

func bucketOf(d time.Duration) int {
	v := uint64(max(d, 0))
	doublings := max(bits.Len64(v)-7, 0)
	return doublings*bucketsPerDoubling + int(v>>doublings)
}

// edge is the greatest duration of a bucket.
func edge(bucket int) time.Duration {
	doublings := max(bucket/bucketsPerDoubling-1, 0)
	return time.Duration(bucket-doublings*bucketsPerDoubling+1)<<doublings - 1
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
	places := slices.SortedFunc(maps.Keys(seen), func(a, b place) int { return cmp.Compare(a.bucket, b.bucket) })
	at := func(share float64) int64 {
		rank, below := math.Ceil(share*total), 0.0
		for _, at := range places {
			// Half a call less, since the weights are not exact.
			if below += float64(seen[at]) * weights[at.waited]; below >= rank-0.5 {
				return int64(min(edge(at.bucket), greatest))
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
