package verify

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/proof"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/fleet"
	"github.com/hilo-id/hilo/cli/internal/term"
)

// trial is a proof while it runs: one goroutine that hears all workers, enters what they were given in a ledger, and starts,
// kills and ends them.
type trial struct {
	verify
	masters []*master
	keys    []string // all that is written, the prefix first
	ledger  proof.Ledger
	result  report // what is counted while it runs; found adds what the others know

	hands   []*hand     // that live
	reports chan func() // enters what was heard from a worker
	newest  int         // number of a worker
	useless int         // workers in a row that ended without a last word and had reported nothing
	left    int64       // identifiers that nobody was told to take
	sums    allocator.CollectionStats

	began      time.Time // all workers were ready
	progressed time.Time // something was reported
	nextKill   time.Time
	complaint  *exit.Error // why a worker got none, if that came up since something was reported
	ending     bool
	tellAll    context.CancelFunc // tells the workers to end
	err        error              // why it ends before its time
}

const (
	// uselessMost is how many workers in a row may end without having done anything.
	uselessMost = 20
	// duplicatesShown is how many duplicates are told at once; all are in the result.
	duplicatesShown = 10
)

// run returns when all workers have ended.
func (t *trial) run(ctx context.Context) {
	t.reports, t.left = make(chan func()), t.IDs
	interrupted := ctx.Done()
	ctx, t.tellAll = context.WithCancel(context.WithoutCancel(ctx))
	for range t.Workers {
		t.launch(ctx)
	}
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for len(t.hands) > 0 {
		select {
		case report := <-t.reports:
			report()
		case <-ticker.C:
			t.look()
		case <-interrupted:
			interrupted = nil
			t.end(context.Canceled)
		}
	}
}

// hear takes a worker's word.
func (t *trial) hear(h *hand, said word) {
	switch {
	case said.Bye != nil:
		h.over = true
		t.sums.Add(*said.Bye)
		if said.Why != nil {
			t.end(&exit.Error{Code: said.Why.Code, Text: fmt.Sprintf("worker %d: %s", h.number, said.Why.Text)})
		}
	case said.Why != nil:
		t.complaint = said.Why
	case said.Runs != nil:
		t.enter(h, said.Runs)
	default:
		t.begin(h)
	}
}

// enter enters what a worker was given.
func (t *trial) enter(h *hand, runs []fleet.Run) {
	for _, r := range runs {
		if r.Number < 1 || r.Count < 1 || r.Number > math.MaxInt64-(r.Count-1) {
			t.end(fmt.Errorf("bug: a run that is none: %+v", r))
			return
		}
		at, before := t.ledger.SeriesOf(r.ID), t.ledger.Duplicates
		high := r.Number + r.Count - 1
		if again := t.ledger.Add(at, proof.Run{Low: r.Number, High: high, Worker: h.number}); again > 0 && before < duplicatesShown {
			text := t.ledger.Series[at].Text(r.Number, t.Separator)
			if r.Count > 1 {
				text += " to " + t.ledger.Series[at].Text(high, t.Separator)
			}
			t.screen.Eventf(time.Now(), "GIVEN TWICE: %d of %s, to worker %d and before", again, text, h.number)
		}
		h.share -= r.Count
	}
	t.progressed, t.complaint, t.useless = time.Now(), nil, 0
	if t.ledger.IDs >= t.IDs {
		t.end(nil)
	}
}

// look does what is due.
func (t *trial) look() {
	if t.ending || t.began.IsZero() {
		return
	}
	now := time.Now()
	quiet := now.Sub(t.progressed)
	if t.Rate > 0 { // for so long a worker may have nothing to do
		quiet -= time.Duration(t.Workers) * time.Second / time.Duration(t.Rate)
	}
	switch {
	case t.Duration > 0 && now.Sub(t.began) >= t.Duration:
		t.end(nil)
		return
	case quiet >= t.GiveUp:
		t.end(t.gaveUp())
		return
	}
	if t.KillWorkers && now.After(t.nextKill) {
		t.killOne()
	}
	if t.ledger.IDs > 0 || quiet >= progressEvery {
		t.screen.Show(t.progress(now))
	}
}

// gaveUp is the error of a trial in which nothing goes on, for the reason that the workers gave last.
func (t *trial) gaveUp() error {
	gave := &exit.Error{Code: exit.Unavailable, Text: fmt.Sprintf("gave up: no worker got an identifier for %s (--give-up)", t.GiveUp)}
	if t.complaint != nil {
		gave.Code = t.complaint.Code
		gave.Text += "; " + t.complaint.Text
	}
	return gave
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
		t.result.Seconds = time.Since(t.began).Seconds()
	}
	t.tellAll()
}

// progress is one line, no longer than a terminal is wide.
func (t *trial) progress(now time.Time) string {
	ids, elapsed := t.ledger.IDs, now.Sub(t.began).Seconds()
	done := float64(ids) / float64(t.IDs)
	if t.Duration > 0 {
		done = max(done, elapsed/t.Duration.Seconds())
	}
	remaining, left := "time left unknown", elapsed/done-elapsed
	const longest = 1000 * 3600 // seconds
	if ids > 0 && left >= 0 && left <= longest {
		remaining = time.Duration(left*1e9).Round(time.Second).String() + " left"
	}
	line := fmt.Sprintf("%3.0f%%  %d ids  %.0f ids/s  %d twice  %s",
		100*done, ids, float64(ids)/max(elapsed, 1e-9), t.ledger.Duplicates, remaining)
	var gone []string
	for _, m := range t.masters {
		if m.away.Load() {
			gone = append(gone, m.name)
		}
	}
	if gone != nil {
		line += "  away: " + strings.Join(gone, ", ")
	}
	return line
}

// verdict is why the proof failed: what was given twice before anything else. left says where keys are left.
func (t *trial) verdict(left error) error {
	err := exit.After(t.err, t.ledger.IDs)
	if t.ledger.Duplicates > 0 {
		err = &exit.Error{Code: exit.Fault, Cause: err,
			Text: fmt.Sprintf("%s of %d had been given before", term.Plural(t.ledger.Duplicates, "id"), t.ledger.IDs)}
	}
	return errors.Join(err, left)
}
