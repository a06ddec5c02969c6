package examine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hilo-id/hilo/allocator"
)

// fakeSource is a source whose calls wait only where wait returns true.
type fakeSource struct {
	start time.Time
	wait  func(call int) (waits bool, lasts time.Duration, err error) // nil means that no call waits

	mu    sync.Mutex
	calls []time.Duration // when each was made
}

func (f *fakeSource) TryNext() (id string, inHand bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.wait != nil {
		if waits, _, _ := f.wait(len(f.calls)); waits {
			return "", false
		}
	}
	f.calls = append(f.calls, time.Since(f.start))
	return "", true
}

func (f *fakeSource) Next(context.Context) (string, error) {
	f.mu.Lock()
	call := len(f.calls)
	f.calls = append(f.calls, time.Since(f.start))
	f.mu.Unlock()
	_, lasts, err := f.wait(call)
	<-time.After(lasts)
	return "", err
}

// serve makes f the source of a load that begins now.
func (f *fakeSource) serve(l *timedLoad, callers int) *timedLoad {
	f.start, l.From, l.Goroutines = time.Now(), f, callers
	l.begin()
	return l
}

func TestLoadKeepsToItsSchedule(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		load    *timedLoad
		callers int
		want    int
		lasts   time.Duration
	}{
		{"one caller", &timedLoad{load: load{Rate: 1000, Duration: 2 * time.Second}}, 1, 2000, 2 * time.Second},
		{"many callers", &timedLoad{load: load{Rate: 1000, Duration: 2 * time.Second}}, 64, 2000, 2 * time.Second},
		{"more callers than calls", &timedLoad{load: load{Rate: 10, Duration: time.Second}}, 64, 10, time.Second},
		{"many calls in a period", &timedLoad{load: load{Rate: 200_000, Duration: 500 * time.Millisecond}, OneIn: 100}, 7, 100_000, 500 * time.Millisecond},
		{"a count", &timedLoad{load: load{Rate: 50, Count: 101}}, 3, 101, 2020 * time.Millisecond},
		{"a duration shorter than the count", &timedLoad{load: load{Rate: 50, Count: 101, Duration: time.Second}}, 3, 50, time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var f fakeSource
				got, err := f.serve(test.load, test.callers).measure(t.Context())
				if err != nil || got.ids != int64(test.want) || len(f.calls) != test.want || got.elapsed != test.lasts {
					t.Fatalf("%d ids, %d calls in %v, error %v", got.ids, len(f.calls), got.elapsed, err)
				}
				slices.Sort(f.calls)
				latest := test.load.Period
				for i, at := range f.calls {
					if due := test.load.due(int64(i)); at < due || at > due+latest {
						t.Fatalf("call %d was due at %v, and made at %v", i, due, at)
					}
				}
			})
		})
	}
}

// One call of 10,000 waits for 100 ms. At 1,000 calls per second it delays a hundred others, and at full speed none.
func TestLoadTimesCallsFromTheirDueTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		wait := func(call int) (bool, time.Duration, error) { return call == 5000, 100 * time.Millisecond, nil }
		paced := timedLoad{load: load{Rate: 1000, Count: 10_000}}
		f := fakeSource{wait: wait}
		got, err := f.serve(&paced, 1).measure(t.Context())
		if err != nil || got.ids != 10_000 || got.waits != 1 || got.sampling.Waited < 100 || got.sampling.Waited > 102 {
			t.Fatalf("%+v, %v", got, err)
		}
		about(t, "greatest", got.latency.Greatest, 100*time.Millisecond)
		about(t, "p99.9", got.latency.P999, 90*time.Millisecond) // ten calls were delayed for longer
		if got.latency.P50 > int64(time.Microsecond) || got.latency.P99 > int64(3*time.Millisecond) {
			t.Errorf("%+v", got.latency)
		}

		full := timedLoad{load: load{Count: 10_000}}
		f = fakeSource{wait: wait}
		if got, err = f.serve(&full, 1).measure(t.Context()); err != nil || got.sampling.Waited != 1 || got.latency.P999 != 0 {
			t.Errorf("%+v, %v", got, err)
		}
		about(t, "greatest at full speed", got.latency.Greatest, 100*time.Millisecond)
	})
}

// At 1,000 calls per second, calls of 2 ms come due twice as often as they can be made.
func TestLoadIncludesTheDelayOfQueuedCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := fakeSource{wait: func(int) (bool, time.Duration, error) { return true, 2 * time.Millisecond, nil }}
		l := timedLoad{load: load{Rate: 1000, Duration: time.Second}}
		got, err := f.serve(&l, 1).measure(t.Context())
		if err != nil || got.ids < 500 || got.ids > 502 {
			t.Fatalf("%+v, %v", got, err)
		}
		about(t, "greatest", got.latency.Greatest, 500*time.Millisecond)
		about(t, "p50", got.latency.P50, 250*time.Millisecond)
	})
}

func about(t *testing.T, what string, nanoseconds int64, want time.Duration) {
	t.Helper()
	if got := time.Duration(nanoseconds); got < want*95/100 || got > want*105/100 {
		t.Errorf("%s is %v, want about %v", what, got, want)
	}
}

func TestLoadRetriesWhileTheServerIsDown(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	tests := []struct {
		name     string
		fails    func(call int) error
		want     error
		ids      int64
		failures int64
		greatest time.Duration
	}{
		{"for a while", func(call int) error {
			if call >= 10 && call < 15 {
				return allocator.ErrUnavailable
			}
			return nil
		}, nil, 95, 5, 600 * time.Millisecond},
		{"for good", func(call int) error {
			if call >= 10 {
				return allocator.ErrUnavailable
			}
			return nil
		}, allocator.ErrUnavailable, 10, 11, 1100 * time.Millisecond},
		{"from the beginning", func(int) error { return allocator.ErrUnavailable }, allocator.ErrUnavailable, 0, 1, 100 * time.Millisecond},
		{"not after another error", func(call int) error {
			if call == 10 {
				return broken
			}
			return nil
		}, broken, 10, 1, 100 * time.Millisecond},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := fakeSource{wait: func(call int) (bool, time.Duration, error) {
					return true, 100 * time.Millisecond, test.fails(call)
				}}
				l := timedLoad{load: load{Count: 95}, Patience: time.Second}
				got, err := f.serve(&l, 1).measure(t.Context())
				failures := int64(len(f.calls)) - got.ids
				if !errors.Is(err, test.want) || got.ids != test.ids || failures != test.failures || got.latency.Greatest != int64(test.greatest) {
					t.Errorf("%+v, %v", got, err)
				}
			})
		})
	}
}

func TestLoadEndsWhenACallerFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		for _, rate := range []float64{0, 100} {
			f := fakeSource{wait: func(call int) (bool, time.Duration, error) {
				if call == 3 {
					return true, time.Millisecond, broken
				}
				return true, time.Millisecond, nil
			}}
			l := timedLoad{load: load{Duration: time.Hour, Rate: rate}}
			got, err := f.serve(&l, 2).measure(t.Context())
			if !errors.Is(err, broken) || got.ids < 3 || got.elapsed > time.Second {
				t.Errorf("%+v, %v", got, err)
			}
		}
	})
}

func TestLoadAtFullSpeedEndsInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := fakeSource{wait: func(int) (bool, time.Duration, error) { return true, time.Millisecond, nil }}
		l := timedLoad{load: load{Duration: time.Second}, OneIn: 100}
		got, err := f.serve(&l, 3).measure(t.Context())
		// Calls in flight at the end finish, but no caller starts another.
		if err != nil || got.elapsed < time.Second || got.elapsed > time.Second+time.Millisecond || got.ids < 2997 || got.ids > 3003 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}
