package examine

import (
	"maps"
	"math"
	"math/bits"
	"slices"
	"time"
)

// histogram counts calls.
type histogram map[bucket]int64

// bucket is of calls with one latency.
type bucket struct {
	latency time.Duration // rounded
	waited  bool          // for a number, or for a call that did; the others are a sample
}

// rounded returns a latency that is up to 1.6 percent longer, so that a histogram has few buckets: from 128 ns on only the
// first seven bits are significant.
func rounded(d time.Duration) time.Duration {
	d = max(d, 0)
	return d | (1<<max(bits.Len64(uint64(d))-7, 0) - 1)
}

// percentiles are in nanoseconds, and at most 1.6 percent too long; Greatest is exact.
type percentiles struct {
	P50      int64 `json:"p50"`
	P99      int64 `json:"p99"`
	P999     int64 `json:"p999"`
	P9999    int64 `json:"p9999"`
	Greatest int64 `json:"greatest"` // of the calls that were timed
}

// sampling is how the percentiles were measured.
type sampling struct {
	OneIn  int   `json:"oneIn"`            // of the calls that found a number in hand, one in so many was timed
	Timed  int64 `json:"timed"`            // how many that were
	Waited int64 `json:"waited"`           // calls that waited, or came due while their caller waited: all were timed
	Clock  int64 `json:"clockNanoseconds"` // what reading the clock adds to each
}

// estimate returns the number of calls by their latency. Each call of the sample counts for as many as were not timed.
func (h histogram) estimate(calls int64) (map[time.Duration]float64, sampling) {
	var s sampling
	for at, n := range h {
		if at.waited {
			s.Waited += n
		} else {
			s.Timed += n
		}
	}
	weight := float64(calls-s.Waited) / float64(max(s.Timed, 1))
	estimated := make(map[time.Duration]float64)
	for at, n := range h {
		if at.waited {
			estimated[at.latency] += float64(n)
		} else {
			estimated[at.latency] += float64(n) * weight
		}
	}
	return estimated, s
}

// percentilesOf returns the percentiles of calls that were counted by their latency.
func percentilesOf(calls map[time.Duration]float64, greatest time.Duration) percentiles {
	total, latencies := 0.0, slices.Sorted(maps.Keys(calls))
	for _, n := range calls {
		total += n
	}
	at := func(share float64) int64 {
		rank, below := math.Ceil(share*total), 0.0
		for _, latency := range latencies {
			if below += calls[latency]; below >= rank-0.5 { // half a call less, since the counts are estimated
				return int64(min(latency, greatest))
			}
		}
		return int64(greatest)
	}
	return percentiles{at(0.5), at(0.99), at(0.999), at(0.9999), int64(greatest)}
}

// clockCost returns what timing a call adds to its time: the median of reading the clock twice.
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
