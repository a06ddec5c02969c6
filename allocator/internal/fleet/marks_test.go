package fleet

import (
	"math"
	"testing"
	"time"

	"github.com/hilo-id/hilo/scripts"
)

func TestLeastGapIsTwiceWhatWasOrMayHaveBeenIssued(t *testing.T) {
	t.Parallel()
	seen := scripts.Range{Low: 1, High: 10, Issued: 100, Seconds: 50}
	for _, test := range []struct {
		name  string
		seen  scripts.Range
		after time.Duration
		want  int64
	}{
		{"nothing was given", scripts.Range{Issued: 100, Seconds: 50}, time.Hour, 0},
		{"at once", seen, 0, 200},
		{"as long as the tallies cover", seen, 50 * time.Second, 200},
		{"later", seen, 100*time.Second + 1, 402},
		{"tallies of no time", scripts.Range{High: 10, Issued: 100}, 10 * time.Second, 2000},
		{"beyond all numbers", scripts.Range{High: math.MaxInt64, Issued: math.MaxInt64, Seconds: 1}, 1000 * time.Hour, math.MaxInt64},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, began := new(Marks), time.Hour
			c.Record(began, test.seen)
			if got := c.LeastGap(began + test.after); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

// After lost writes, the reply to a discarded identity can be below the floor.
func TestRecordLowersTheFloorAfterAForcedSeedOnly(t *testing.T) {
	t.Parallel()
	c := new(Marks)
	for _, seen := range []struct{ high, epoch, lowered, floor, greatest int64 }{
		{high: 100, epoch: 2, floor: 100, greatest: 2},
		{high: 50, epoch: 1, floor: 100, greatest: 2},
		{high: 60, epoch: 3, lowered: 1, floor: 60, greatest: 3},
		{high: 70, epoch: 3, lowered: 1, floor: 70, greatest: 3},
		{high: 900, epoch: 4, floor: 900, greatest: 4},            // of another primary, which lost the forced seed
		{high: 71, epoch: 3, lowered: 1, floor: 900, greatest: 4}, // of the first one again
	} {
		c.Record(0, scripts.Range{High: seen.high, Epoch: seen.epoch, Lowered: seen.lowered})
		if c.Floor != seen.floor || c.Epoch != seen.greatest {
			t.Errorf("after %+v got floor %d, epoch %d, want %v, %v", seen, c.Floor, c.Epoch, seen.floor, seen.greatest)
		}
	}
}

func TestRecordDetectsACounterThatWasRecreated(t *testing.T) {
	t.Parallel()
	seen := scripts.Range{High: 100, Epoch: 2, Ranges: 7}
	for _, test := range []struct {
		name  string
		got   scripts.Range
		anew  bool
		epoch int64 // of the next request
	}{
		{"the next range", scripts.Range{High: 110, Epoch: 2, Ranges: 8}, false, 2},
		{"as many ranges", scripts.Range{High: 110, Epoch: 2, Ranges: 7}, true, 3},
		{"fewer ranges", scripts.Range{High: 110, Ranges: 3}, true, 3},
		{"which made it jump", scripts.Range{High: 9999, Epoch: 3, Ranges: 3, Evidence: scripts.EvidenceFloor}, false, 3},
		{"after a jump for another client", scripts.Range{High: 9999, Epoch: 3, Ranges: 3}, false, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := new(Marks)
			if m.Record(0, seen) {
				t.Error("the first reply: got true, want false")
			}
			if got := m.Record(0, test.got); got != test.anew || m.Epoch != test.epoch {
				t.Errorf("got %v, epoch %d, want %v, %d", got, m.Epoch, test.anew, test.epoch)
			}
			next := scripts.Range{High: 20000, Epoch: m.Epoch + 1, Ranges: test.got.Ranges + 1, Evidence: scripts.EvidenceEpoch}
			if m.Record(0, next) {
				t.Error("the reply after it: got true, want false")
			}
		})
	}
	greatest := &Marks{Epoch: math.MaxInt64}
	greatest.Record(0, seen)
	if greatest.Record(0, seen); greatest.Epoch != math.MaxInt64 {
		t.Errorf("got epoch %d, want %d", greatest.Epoch, int64(math.MaxInt64))
	}
}
