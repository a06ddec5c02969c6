package memory

import (
	"math"
	"testing"
	"time"

	"github.com/hilo-id/hilo/scripts"
)

func TestTheLeastGapIsTwiceWhatWasIssuedOrMayHaveBeenSince(t *testing.T) {
	t.Parallel()
	told := scripts.Range{Low: 1, High: 10, Issued: 100, Seconds: 50}
	for _, test := range []struct {
		name  string
		told  scripts.Range
		after time.Duration
		want  int64
	}{
		{"nothing was given", scripts.Range{Issued: 100, Seconds: 50}, time.Hour, 0},
		{"at once", told, 0, 200},
		{"as long as the tallies cover", told, 50 * time.Second, 200},
		{"later", told, 100*time.Second + 1, 402},
		{"tallies of no time", scripts.Range{High: 10, Issued: 100}, 10 * time.Second, 2000},
		{"beyond all numbers", scripts.Range{High: math.MaxInt64, Issued: math.MaxInt64, Seconds: 1}, 1000 * time.Hour, math.MaxInt64},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, began := new(Counter), time.Hour
			c.Learn(began, test.told)
			if got := c.LeastGap(began + test.after); got != test.want {
				t.Errorf("%d, want %d", got, test.want)
			}
		})
	}
}

// What an identity is told of a value that it may not have can be below what it was given, after writes were lost.
func TestTheFloorGoesDownWithAForcedSeedOnly(t *testing.T) {
	t.Parallel()
	c := new(Counter)
	for _, told := range []struct{ high, epoch, lowered, floor, greatest int64 }{
		{high: 100, epoch: 2, floor: 100, greatest: 2},
		{high: 50, epoch: 1, floor: 100, greatest: 2},
		{high: 60, epoch: 3, lowered: 1, floor: 60, greatest: 3},
		{high: 70, epoch: 3, lowered: 1, floor: 70, greatest: 3},
	} {
		c.Learn(0, scripts.Range{High: told.high, Epoch: told.epoch, Lowered: told.lowered})
		if c.Floor != told.floor || c.Epoch != told.greatest {
			t.Errorf("%+v: floor %d, epoch %d", told, c.Floor, c.Epoch)
		}
	}
}
