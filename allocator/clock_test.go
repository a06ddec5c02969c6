package allocator

import (
	"testing"
	"testing/synctest"
	"time"
)

// The allocator goes by the monotonic clock, which nobody sets. Even so, one that went back an hour would harm nothing.
func TestAClientsClockThatGoesBackAnHourHarmsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{}
		a := withFake(t, f, Options{MaxCapacity: 1024, Runway: time.Second})
		c := mustCollection(t, a, "orders")
		var numbers []int64
		use := func() {
			t.Helper()
			for range 1000 {
				n, err := c.NextNumber(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				numbers = append(numbers, n)
				<-time.After(5 * time.Millisecond)
			}
			synctest.Wait()
		}
		<-time.After(2 * time.Hour)
		use()
		before := f.calls()
		a.start = a.start.Add(time.Hour)
		use()
		wantDistinct(t, numbers)
		if f.calls() == before {
			t.Fatal("no range was asked for since")
		}
		for _, r := range f.requests[before:] {
			if r.Capacity < 32 || r.Capacity > 1024 || r.Floor < numbers[len(numbers)/2] || r.LeastGap < 2*32 {
				t.Errorf("it asks for %+v", r)
			}
		}
		f.set(func() { f.refuses = errHung })
		for err := error(nil); err == nil; _, err = c.NextNumber(t.Context()) {
		}
		f.set(func() { f.refuses = nil })
		start := time.Now()
		if _, err := c.NextNumber(t.Context()); err != nil || time.Since(start) > longestBackoff {
			t.Errorf("%v, %v after the server was back", err, time.Since(start))
		}
	})
}
