package allocator

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hilo-id/hilo/scripts"
)

func TestStatsRateAndRunwayFollowTheCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newFakeAllocator(t, Options{Runway: 20 * time.Second}, &fakeServer{})
		c := mustCollection(t, a, "orders")
		for range 10 * 200 {
			if _, err := c.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
			<-time.After(100 * time.Millisecond)
		}
		s := statsOf(a)
		if math.Abs(s.Rate-10) > 0.2 {
			t.Errorf("got rate %v, want 10", s.Rate)
		}
		if want := float64(s.Held) / s.Rate; math.Abs(s.Runway.Seconds()-want) > 0.01 || s.Runway < 20*time.Second {
			t.Errorf("got runway %v, want %.2f s, and no less than Options.Runway", s.Runway, want)
		}
		if again := statsOf(a); again != s {
			t.Errorf("got %+v after looking, want %+v", again, s)
		}
		<-time.After(24 * time.Hour)
		if s := statsOf(a); s.Rate > 0.01 || s.Runway < time.Hour {
			t.Errorf("after a day without callers: got rate %v, runway %v, want at most 0.01 and at least 1h", s.Rate, s.Runway)
		}
	})
}

func TestStatsGreatestIsThatOfTheCounter(t *testing.T) {
	t.Parallel()
	a := newFakeAllocator(t, Options{}, &fakeServer{max: 4000})
	for _, name := range []string{"Orders", "orders"} {
		if _, err := a.Next(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range a.Stats().Collections {
		if s.Greatest != 4064 {
			t.Errorf("%s: got %d, want 4064 in both spellings", s.Name, s.Greatest)
		}
	}
}

// A value that rose and fell again would look like another loss each time.
func TestStatsBurntNeverRisesWithoutALoss(t *testing.T) {
	t.Parallel()
	a := newFakeAllocator(t, Options{MinCapacity: 1, MaxCapacity: 2}, &fakeServer{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 20_000 {
			if _, err := a.Next(t.Context(), "orders"); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	var last CollectionStats
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		s := statsOf(a)
		if s.Burnt != 0 || s.Issued < last.Issued || s.Reserved < last.Reserved || s.Ranges < last.Ranges {
			t.Fatalf("got %+v after %+v, want none burnt, and counts that only grow", s, last)
		}
		last = s
	}
}

// returning is a fake server whose replies to returns wait until the test permits them.
type returning struct {
	fakeServer
	asked, pass chan struct{}
	ok          bool
}

func (r *returning) Return(_ context.Context, requests []scripts.ReturnRequest) []scripts.Returned {
	close(r.asked)
	<-r.pass
	results := make([]scripts.Returned, len(requests))
	for i := range results {
		results[i].OK = r.ok
	}
	return results
}

func TestStatsCountsNumbersInReturnAsHeld(t *testing.T) {
	t.Parallel()
	for _, ok := range []bool{true, false} {
		f := &returning{asked: make(chan struct{}), pass: make(chan struct{}), ok: ok}
		a := newFakeAllocator(t, Options{}, f)
		if _, err := a.Next(t.Context(), "orders"); err != nil {
			t.Fatal(err)
		}
		closed := make(chan error)
		go func() { closed <- a.Close(t.Context()) }()
		<-f.asked
		if s := statsOf(a); s.Held != 31 || s.Burnt != 0 || s.Returned != 0 {
			t.Errorf("meanwhile: got %+v, want 31, 0, 0", s)
		}
		close(f.pass)
		if err := <-closed; err != nil {
			t.Error(err)
		}
		s := statsOf(a)
		if want := map[bool]int64{true: 31}[ok]; s.Held != 0 || s.Returned != want || s.Burnt != 31-want {
			t.Errorf("returned %v: got %+v, want 0, %v, %v", ok, s, want, 31-want)
		}
	}
}
