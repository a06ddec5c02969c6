package examine

import (
	"testing"
	"time"
)

func TestRatesCoverTheWholeTime(t *testing.T) {
	t.Parallel()
	r := loadResult{progress: []loadProgress{{}}}
	for i := range 100 { // 10 ids in each of 50 steps, then 30
		last := r.progress[i]
		r.progress = append(r.progress, loadProgress{elapsed: last.elapsed + 100*time.Millisecond, ids: last.ids + int64(10+20*(i/50))})
	}
	about := func(rate, want float64) bool { return rate > want*0.99 && rate < want*1.01 }
	for n, want := range map[int]int{0: 0, 1: 1, 10: 10, 1000: 100} {
		rates := r.rates(n)
		if len(rates) != want || n >= 10 && (!about(rates[0], 100) || !about(rates[len(rates)-1], 300)) {
			t.Errorf("%d points: %v", n, rates)
		}
	}
	if got := (loadResult{}).rates(60); got != nil {
		t.Errorf("without a measurement: got %v, want none", got)
	}
}
