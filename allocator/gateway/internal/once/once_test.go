package once

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// sender returns a function that returns 1, 2 and so on.
func sender() func() (int64, error) {
	var n int64
	return func() (int64, error) { n++; return n, nil }
}

func TestDoRemembersForAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var a Answers
		send := sender()
		want := func(id ID, want int64) {
			t.Helper()
			if got, err := a.Do(id, send); got != want || err != nil {
				t.Errorf("got %d, %v, want %d", got, err, want)
			}
		}
		want(IDOf("one"), 1)
		want(IDOf("two"), 2)
		time.Sleep(memory - 1)
		want(IDOf("one"), 1)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if len(a.all) != 0 {
			t.Errorf("got %d answers after %v, want none", len(a.all), memory)
		}
		want(IDOf("one"), 3)
		want(ID{}, 4)
		want(ID{}, 5)
		time.Sleep(memory)
	})
}

func TestDoRemembersABoundedNumber(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var a Answers
		send := sender()
		for i := range maxAnswers + 1 {
			_, _ = a.Do(ID{byte(i), byte(i >> 8), byte(i >> 16), 1}, send)
		}
		got, err := a.Do(ID{0, 0, 0, 1}, send)
		a.mu.Lock()
		kept := len(a.all)
		a.mu.Unlock()
		if kept != maxAnswers || got != 1 || err != nil {
			t.Errorf("got %d answers, the first one %d, %v, want %d, 1", kept, got, err, maxAnswers)
		}
		time.Sleep(memory)
	})
}

func TestDoSendsAgainAfterAFailureOrAPanic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var a Answers
		id, failed := IDOf("one"), errors.New("failed")
		if _, err := a.Do(id, func() (int64, error) { return 0, failed }); !errors.Is(err, failed) {
			t.Errorf("got %v, want %v", err, failed)
		}
		func() {
			defer func() { _ = recover() }()
			_, _ = a.Do(id, func() (int64, error) { panic("a hook of the client") })
		}()
		for _, answer := range []int64{7, 8} {
			if got, err := a.Do(id, func() (int64, error) { return answer, nil }); got != 7 || err != nil {
				t.Errorf("got %d, %v, want 7", got, err)
			}
		}
		time.Sleep(memory)
	})
}
