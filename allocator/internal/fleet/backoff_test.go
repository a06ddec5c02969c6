package fleet

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestBackoffDelayDoublesUpToItsBoundAndIsSpread(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for failures, want := range []time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms, time.Second, time.Second} {
		if low, high := backoffDelay(failures, MaxBackoff, 0), backoffDelay(failures, MaxBackoff, 1); low != want/2 || high != want {
			t.Errorf("failure %d: %v to %v, want %v to %v", failures, low, high, want/2, want)
		}
	}
	if got := backoffDelay(1<<30, MaxBackoffOfMany, 1); got != MaxBackoffOfMany {
		t.Errorf("after very many failures: got %v, want %v", got, MaxBackoffOfMany)
	}
}

func TestBackoffCountsSimultaneousFailuresOnce(t *testing.T) {
	t.Parallel()
	var b Backoff
	for range 32 {
		b.Fail(time.Minute, MaxBackoff)
	}
	if b.failures != 1 || b.Wait(time.Minute) > firstBackoff {
		t.Errorf("after 32 failures at one time: %+v", b)
	}
}
