package allocator

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/hilo-id/hilo/allocator/internal/fleet"
)

// The allocator uses the monotonic clock, which cannot be set. A jump back of that clock must be harmless all the same.
func TestNextSurvivesAClockThatGoesBackAnHour(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{}
		a := newFakeAllocator(t, Options{MaxCapacity: 1024, Runway: time.Second}, f)
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
		a.fleet.Start = a.fleet.Start.Add(time.Hour)
		use()
		wantDistinct(t, numbers)
		if f.calls() == before {
			t.Fatal("got no request for a range, want one")
		}
		for _, r := range f.requests[before:] {
			if r.Capacity < 32 || r.Capacity > 1024 || r.Floor < numbers[len(numbers)/2] || r.Age > 7200 {
				t.Errorf("got the request %+v, want a capacity of 32 to 1024 and the marks of the ranges before", r)
			}
		}
		f.set(func() { f.refuses = errHung })
		for err := error(nil); err == nil; _, err = c.NextNumber(t.Context()) {
		}
		f.set(func() { f.refuses = nil })
		start := time.Now()
		if _, err := c.NextNumber(t.Context()); err != nil || time.Since(start) > fleet.MaxBackoff {
			t.Errorf("got %v, %v after the server was back, want <nil> within %v", err, time.Since(start), fleet.MaxBackoff)
		}
	})
}
