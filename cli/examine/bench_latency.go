package examine

import (
	"maps"
	"math"
	"math/bits"
	"slices"
	"time"
)

// histogram counts timed calls.
type histogram map[bucket]int64

// bucket identifies calls of the same rounded latency.
type bucket struct {
	latency time.Duration
	waited  bool // the call waited or was delayed by one that did; all such calls are timed, and only a sample of the others
}

// rounded rounds d up to seven significant bits, which is at most 1.6 percent more and limits the number of buckets.
func rounded(d time.Duration) time.Duration {
	d = max(d, 0)
	return d | (1<<max(bits.Len64(uint64(d))-7, 0) - 1)
}

// percentiles are in nanoseconds. They are at most 1.6 percent too high, except Greatest, which is exact.
type percentiles struct {
	P50      int64 `json:"p50"`
	P99      int64 `json:"p99"`
	P999     int64 `json:"p999"`
	P9999    int64 `json:"p9999"`
	Greatest int64 `json:"greatest"` // among the timed calls
}

// sampling describes how the latency was measured.
type sampling struct {
	OneIn  int   `json:"oneIn"`            // one in so many calls that found a number in hand was timed
	Timed  int64 `json:"timed"`            // number of these timed calls
	Waited int64 `json:"waited"`           // calls that waited or came due while their caller waited; all were timed
	Clock  int64 `json:"clockNanoseconds"` // added to each timed call by reading the clock
}

// estimate returns the number of calls by latency, extrapolated from the sample to calls in total.
func (h histogram) estimate(calls int64) (map[time.Duration]float64, sampling) {
	timed := make(map[bool]int64) // by whether the call waited
	for at, n := range h {
		timed[at.waited] += n
	}
	s := sampling{Timed: timed[false], Waited: timed[true]}
	weight := map[bool]float64{true: 1, false: float64(calls-s.Waited) / float64(max(s.Timed, 1))}
	estimated := make(map[time.Duration]float64)
	for at, n := range h {
		estimated[at.latency] += float64(n) * weight[at.waited]
	}
	return estimated, s
}

// percentilesOf returns the percentiles of calls, which has the number of calls by latency.
func percentilesOf(calls map[time.Duration]float64, greatest time.Duration) percentiles {
	total, latencies := 0.0, slices.Sorted(maps.Keys(calls))
	for _, n := range calls {
		total += n
	}
	at := func(share float64) int64 {
		rank, below := math.Ceil(share*total), 0.0
		for _, latency := range latencies {
			if below += calls[latency]; below >= rank-0.5 { // the counts are estimates: allow half a call of error
				return int64(min(latency, greatest))
			}
		}
		return int64(greatest)
	}
	return percentiles{at(0.5), at(0.99), at(0.999), at(0.9999), int64(greatest)}
}

// clockCost returns the median time between two readings of the clock, which timing adds to a call.
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
