package scripts

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// disk is a server that syncs once a second, as with appendfsync everysec. It answers at once, and its clock is that of the bubble.
type disk struct {
	began    time.Time
	sent     []time.Duration // of each question or permit
	pending  func(at time.Duration) bool
	obstacle func(at time.Duration) error
	clock    func(at time.Duration) time.Duration
}

func (d *disk) send(_ context.Context, requests ...PermitRequest) []Permitted {
	at := time.Since(d.began)
	d.sent = append(d.sent, at)
	got := Permitted{Clock: at}
	if d.clock != nil {
		got.Clock = d.clock(at)
	}
	switch {
	case d.obstacle != nil && d.obstacle(at) != nil:
		got.Err = d.obstacle(at)
	case d.pending != nil && d.pending(at):
		got.Err = ErrPending
	}
	all := make([]Permitted, len(requests))
	for i := range all {
		all[i] = got
	}
	return all
}

func TestAskSendsThreeQuestions(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	within := func(from, to time.Duration) func(time.Duration) bool {
		return func(at time.Duration) bool { return from <= at && at < to }
	}
	for _, test := range []struct {
		name   string
		disk   disk
		always bool
		end    time.Duration // of ctx, 0 for none
		want   []time.Duration
		err    error
	}{
		{name: "a fast disk", want: []time.Duration{0, 1200 * ms, 1200 * ms}},
		{name: "always", always: true, want: []time.Duration{0}},
		{name: "a sync at the first question", disk: disk{pending: within(0, 80*ms)},
			want: []time.Duration{0, 50 * ms, 100 * ms, 1300 * ms, 1300 * ms}},
		{name: "a sync at the second question", disk: disk{pending: within(1200*ms, 1230*ms)},
			want: []time.Duration{0, 1200 * ms, 1250 * ms, 1250 * ms}},
		{name: "a server that was paused", disk: disk{clock: func(at time.Duration) time.Duration { return at * 2 / 3 }}, // 800 ms pass there
			want: []time.Duration{0, 1200 * ms, 2400 * ms, 2400 * ms}},
		{name: "a clock that was set back", disk: disk{clock: func(at time.Duration) time.Duration {
			if at < time.Second {
				return at
			}
			return at - 2*time.Second
		}}, want: []time.Duration{0, 1200 * ms, 2400 * ms, 3600 * ms, 3600 * ms}},
		{name: "a rewrite at the second question", disk: disk{obstacle: func(at time.Duration) error {
			if at > time.Second {
				return ErrNotDurable
			}
			return nil
		}}, want: []time.Duration{0, 1200 * ms}, err: ErrNotDurable},
		{name: "an end while it waits", disk: disk{clock: func(time.Duration) time.Duration { return 0 }}, end: time.Second,
			want: []time.Duration{0, 1000 * ms}, err: context.DeadlineExceeded},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, d := t.Context(), test.disk
				d.began = time.Now()
				if test.end > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, test.end)
					defer cancel()
				}
				send := func(ctx context.Context, requests ...PermitRequest) []Permitted {
					got := d.send(ctx, requests...)
					if err := ctx.Err(); err != nil { // as a client does
						got[0].Err = err
					}
					return got
				}
				errs, err := Ask(ctx, send, serverKey, test.always, PermitRequest{Keys: keys, Raised: 96})
				if !errors.Is(err, test.err) || err == nil && (len(errs) != 1 || errs[0] != nil) {
					t.Errorf("got %v, %v, want %v", errs, err, test.err)
				}
				if len(d.sent) != len(test.want) {
					t.Fatalf("sent at %v, want %v", d.sent, test.want)
				}
				for i, at := range d.sent {
					if at != test.want[i] {
						t.Errorf("sent at %v, want %v", d.sent, test.want)
					}
				}
			})
		})
	}
}

// Less than three questions is not enough. Here a slow sync began before the raise and ends after the first question, so the sync
// that covers the raise begins then. Only the second question, which finds it pending, waits for it.
func TestAskWaitsForTheSyncThatCoversTheRaise(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := disk{began: time.Now()}
		covered := 3 * time.Second
		d.pending = func(at time.Duration) bool { return at > 0 && at < covered }
		if one := d.send(t.Context(), PermitRequest{})[0]; one.Err != nil {
			t.Fatalf("one question: got %v, want none in the way, which is the fault", one.Err)
		}
		if _, err := Ask(t.Context(), d.send, serverKey, false); err != nil {
			t.Fatal(err)
		}
		if end := time.Since(d.began); end < covered {
			t.Errorf("permitted after %v, want not before the sync ended, after %v", end, covered)
		}
	})
}

func TestAskGivesUpWhenASyncDoesNotEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := disk{began: time.Now(), pending: func(time.Duration) bool { return true }}
		if _, err := Ask(t.Context(), d.send, serverKey, false); !errors.Is(err, ErrPending) || !errors.Is(err, ErrNotDurable) {
			t.Errorf("got %v, want ErrPending", err)
		}
		if end := time.Since(d.began); end < 5*time.Second || end > 15*time.Second {
			t.Errorf("gave up after %v, want about 10 s", end)
		}
	})
}

// Of several requests only those are sent again that a sync is in the way of.
func TestAskReportsEachOutcome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var sent [][]int64
		send := func(_ context.Context, requests ...PermitRequest) []Permitted {
			var all []Permitted
			var raised []int64
			for _, r := range requests {
				got := Permitted{}
				switch {
				case r.Raised == 1:
					got.Err = ErrChanged
				case r.Raised == 2 && len(sent) == 0:
					got.Err = ErrPending
				}
				all, raised = append(all, got), append(raised, r.Raised)
			}
			sent = append(sent, raised)
			return all
		}
		errs, err := Ask(t.Context(), send, serverKey, true, PermitRequest{Raised: 1}, PermitRequest{Raised: 2}, PermitRequest{Raised: 3})
		if err != nil || !errors.Is(errs[0], ErrChanged) || errs[1] != nil || errs[2] != nil {
			t.Errorf("got %v, %v, want ErrChanged for the first", errs, err)
		}
		if len(sent) != 2 || len(sent[1]) != 1 || sent[1][0] != 2 {
			t.Errorf("sent %v, want only the second one again", sent)
		}
	})
}
