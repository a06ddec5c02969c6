package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hilo-id/hilo/prefix"
)

// trial is a proof while it runs: one goroutine that hears all reports, judges them, and tells the workers to go on.
type trial struct {
	verify
	judge    judge
	watchers []*watcher

	hands   []*hand // that live
	reports chan heard
	newest  int // number of a worker
	killed  int
	lost    int   // workers that ended without a farewell and were not killed by the proof
	useless int   // of them in a row that had reported nothing
	left    int64 // identifiers that nobody was told to take
	sums    farewell

	began      time.Time // all workers were ready
	took       time.Duration
	progressed time.Time // something was reported
	nextKill   time.Time
	trouble    farewell // why a worker got none, if that came up since something was reported
	ending     bool
	deadline   <-chan time.Time // for the workers, once they are told to end
	err        error            // why it ends before its time
}

const (
	greatestGrant = 1 << 16
	// uselessMost is how many workers in a row may end without having done anything.
	uselessMost = 20
	// duplicatesShown is how many duplicates are told at once; all are in the result.
	duplicatesShown = 10
)

// run returns when all workers have ended.
func (t *trial) run(ctx context.Context) {
	t.reports = make(chan heard)
	t.left = t.IDs
	for range t.Workers {
		if !t.launch(ctx) {
			break
		}
	}
	ticker := time.NewTicker(t.tick())
	defer ticker.Stop()
	interrupted := ctx.Done()
	for len(t.hands) > 0 {
		select {
		case r := <-t.reports:
			t.hear(ctx, r)
		case <-ticker.C:
			t.look()
		case <-interrupted:
			interrupted = nil
			t.end(ctx.Err())
		case <-t.deadline:
			t.killAll()
		}
	}
}

// tick is how often it looks at the time: with a rate, that is when workers are told to go on.
func (t *trial) tick() time.Duration {
	if t.Rate > 0 {
		return 10 * time.Millisecond
	}
	return 50 * time.Millisecond
}

// launch starts one more worker, and ends the trial if that cannot be.
func (t *trial) launch(ctx context.Context) bool {
	t.newest++
	if t.Goroutines {
		t.hands = append(t.hands, t.goroutine(ctx, t.newest, t.reports))
		return true
	}
	h, err := t.process(t.newest, t.reports)
	if err != nil {
		t.end(err)
		return false
	}
	t.hands = append(t.hands, h)
	return true
}

// hear takes a report.
func (t *trial) hear(ctx context.Context, r heard) {
	var err error
	h := r.from
	switch r.kind {
	case frameReady:
		h.ready = true
		t.start()
	case frameSeries:
		var id prefix.ID
		if err = json.Unmarshal(r.body, &id); err == nil {
			h.series = append(h.series, t.judge.of(id))
		}
	case frameRuns:
		err = t.take(h, r.body)
		t.feed()
	case frameTrouble:
		err = json.Unmarshal(r.body, &t.trouble)
	case frameEnd:
		h.bye = new(farewell)
		err = json.Unmarshal(r.body, h.bye)
	case 0:
		t.ended(ctx, h, r.err)
	default:
		err = fmt.Errorf("bug: a frame of the kind %q", r.kind)
	}
	if err != nil {
		t.end(err)
	}
}

// take judges what a worker was given.
func (t *trial) take(h *hand, body []byte) error {
	err := eachRun(body, func(series int, low, high int64) error {
		if series >= len(h.series) {
			return errRuns
		}
		at := h.series[series]
		before := t.judge.again
		if again := t.judge.take(at, run{low, high, h.number}); again > 0 && before < duplicatesShown {
			s := t.judge.series[at]
			t.screen.eventf(time.Now(), "GIVEN TWICE: %d of %s, to worker %d and before", again, t.texts(s, low, high), h.number)
		}
		h.counted += high - low + 1
		return nil
	})
	t.progressed, t.trouble, t.useless = time.Now(), farewell{}, 0
	if t.judge.ids >= t.IDs {
		t.end(nil)
	}
	return err
}

// texts are the identifiers of consecutive numbers.
func (t *trial) texts(s *series, low, high int64) string {
	if low == high {
		return s.text(low, t.Separator)
	}
	return s.text(low, t.Separator) + " to " + s.text(high, t.Separator)
}

func (s *series) text(number int64, separator string) string {
	id := s.ID
	id.Number = number
	return string(id.Append(nil, separator))
}

// ended is about a worker that is no more. What it took and did not report counts for nothing, and somebody else takes
// as many.
func (t *trial) ended(ctx context.Context, h *hand, err error) {
	_ = h.grants.Close()
	t.hands = slices.DeleteFunc(t.hands, func(other *hand) bool { return other == h })
	t.left += h.owed()
	switch {
	case h.bye != nil:
		t.sums.add(*h.bye)
		if h.bye.Code != exitDone {
			t.end(&failure{code: h.bye.Code, text: fmt.Sprintf("worker %d: %s", h.number, h.bye.Text)})
		}
	case h.killed:
	case !h.ready && !t.ending:
		t.end(fmt.Errorf("worker %d did not get as far as to begin (%w)", h.number, silent(err)))
	default:
		t.lost++
		if t.useless++; t.useless > uselessMost {
			t.end(fmt.Errorf("%d workers in a row ended without a word, the last of them with: %w", t.useless, silent(err)))
		}
		if !t.ending {
			t.screen.eventf(time.Now(), "worker %d is gone (%v); another takes its place", h.number, silent(err))
		}
	}
	if !t.ending {
		t.launch(ctx)
	}
}

// silent is how a worker ended that said nothing itself.
func silent(err error) error {
	if err == nil {
		return errors.New("it said nothing")
	}
	return err
}

func (f *farewell) add(other farewell) {
	f.Ranges += other.Ranges
	f.Reserved += other.Reserved
	f.Issued += other.Issued
	f.Returned += other.Returned
	f.Burnt += other.Burnt
	f.Waits += other.Waits
	f.Failures += other.Failures
	f.Jumps += other.Jumps
}

// look does what is due.
func (t *trial) look() {
	now := time.Now()
	switch {
	case t.ending || t.began.IsZero():
		return
	case t.Duration > 0 && now.Sub(t.began) >= t.Duration:
		t.end(nil)
		return
	case t.waiting() && now.Sub(t.progressed) >= t.GiveUp:
		t.end(t.gaveUp())
		return
	}
	if t.KillWorkers && now.After(t.nextKill) {
		t.killOne()
	}
	t.feed()
	if t.judge.ids > 0 || t.waiting() && now.Sub(t.progressed) >= progressEvery {
		t.screen.show(t.progress(now))
	}
}

// gaveUp is the error of a trial in which nothing goes on, for the reason that the workers gave last.
func (t *trial) gaveUp() error {
	gave := &failure{code: exitUnavailable, text: fmt.Sprintf("gave up: no worker got an identifier for %s (--give-up)", t.GiveUp)}
	if t.trouble.Code != exitDone {
		gave.code = t.trouble.Code
		gave.text += "; " + t.trouble.Text
	}
	return gave
}

// waiting tells whether anybody was told to take something.
func (t *trial) waiting() bool {
	return slices.ContainsFunc(t.hands, func(h *hand) bool { return h.owed() > 0 })
}

// end tells all workers to end, once; err is why, where it is before its time.
func (t *trial) end(err error) {
	if t.err == nil {
		t.err = err
	}
	if t.ending {
		return
	}
	t.ending = true
	if !t.began.IsZero() {
		t.took = time.Since(t.began)
	}
	for _, h := range t.hands {
		_ = h.grants.Close()
	}
	t.deadline = time.After(t.servers.patience(t.Timeout) + t.Timeout)
}

// killAll ends the workers that did not end when they were told to.
func (t *trial) killAll() {
	for _, h := range t.hands {
		if h.kill != nil {
			h.kill()
		}
	}
}
