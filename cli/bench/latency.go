package bench

import (
	"math"
	"math/bits"
	"slices"
	"sync/atomic"
	"time"
)

// The buckets of a histogram: 1 ns wide below 128 ns, from there 64 to each doubling, so that a value is known to
// 1.6 percent; what takes longer than 18 minutes goes to the last.
const (
	bucketsPerDoubling = 64
	longestDoubling    = 40 // 2^40 ns
	buckets            = (longestDoubling-6)*bucketsPerDoubling + bucketsPerDoubling
)

// histogram counts durations. Its size is fixed, however many they are. It is safe for concurrent use.
type histogram [buckets]atomic.Int64

func (h *histogram) add(d time.Duration) { h[bucketOf(d)].Add(1) }

func bucketOf(d time.Duration) int {
	v := uint64(min(max(d, 0), 1<<longestDoubling-1))
	doublings := max(bits.Len64(v)-7, 0)
	return doublings*bucketsPerDoubling + int(v>>doublings)
}

// edge is the greatest duration of a bucket.
func edge(bucket int) time.Duration {
	doublings := max(bucket/bucketsPerDoubling-1, 0)
	return time.Duration(bucket-doublings*bucketsPerDoubling+1)<<doublings - 1
}

// latencies are what the callers of one stripe saw. Callers share stripes, so that ten thousand of them need no more
// room than a few.
type latencies struct {
	inHand histogram // calls that found a number in hand, of which a sample is timed
	waited histogram // calls that did not, or that such a call held up: all of them
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
func summarize(all []latencies, calls int64, greatest time.Duration) (percentiles, sampling) {
	var s sampling
	var sampled, every [buckets]float64
	for i := range all {
		for b := range buckets {
			n, m := all[i].inHand[b].Load(), all[i].waited[b].Load()
			s.Timed += n
			s.Waited += m
			sampled[b] += float64(n)
			every[b] += float64(m)
		}
	}
	weight := float64(calls-s.Waited) / float64(max(s.Timed, 1))
	total := float64(s.Waited)
	if s.Timed > 0 {
		total = float64(calls)
	}
	at := func(share float64) int64 {
		rank, below := math.Ceil(share*total), 0.0
		for b := range buckets {
			// Half a call less, since the weights are not exact.
			if below += sampled[b]*weight + every[b]; below > 0 && below >= rank-0.5 {
				return int64(min(edge(b), greatest))
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
