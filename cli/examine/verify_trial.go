package examine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/proof"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/cli/internal/term"
)

// trial checks on the user's servers that no identifier is issued twice. One goroutine receives the messages of all workers,
// records the identifiers in a ledger, and starts, kills and ends workers.
type trial struct {
	*base.Session
	servers     target.Servers
	settings    map[string]string // of worker processes, by environment variable
	Base        string            // the user's namespace; Namespace belongs to the trial
	IDs         int64
	Workers     int
	Goroutines  bool // instead of processes
	Collections []string
	Rate        int64         // identifiers per second in total; 0 means full speed
	Duration    time.Duration // 0 means no limit
	GiveUp      time.Duration // time without an identifier that ends the trial
	KillWorkers bool

	masters []*master
	keys    []string // every key that is written, beginning with the server's prefix
	ledger  proof.Ledger
	live    *term.Live
	bar     *term.Bar

	workers    []*workerHandle // not ended yet
	events     chan func()     // messages and ends of workers, handled by run
	started    int             // workers so far
	killed     int             // workers that --kill-workers killed
	lost       int             // workers that ended unexpectedly
	fruitless  int             // workers in a row that ended unexpectedly and reported nothing
	unassigned int64           // identifiers that are not assigned to a worker
	stats      allocator.CollectionStats

	began       time.Time // all workers were ready
	ended       time.Time // the workers were stopped; zero until then
	lastReport  time.Time
	nextKill    time.Time
	lastErr     *exit.Error // the latest error of a worker since lastReport
	stopWorkers context.CancelFunc
	err         error // why the trial ended early
}

const (
	maxFruitless = 20
	maxShown     = 10 // duplicates that are printed when they are found
)

// run runs the trial until all workers have ended.
func (t *trial) run(ctx context.Context) {
	t.events, t.unassigned = make(chan func()), t.IDs
	interrupted := ctx.Done()
	ctx, t.stopWorkers = context.WithCancel(context.WithoutCancel(ctx))
	for range t.Workers {
		t.startWorker(ctx)
	}
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for len(t.workers) > 0 {
		select {
		case event := <-t.events:
			event()
		case <-ticker.C:
			t.tick()
		case <-interrupted:
			interrupted = nil
			t.end(context.Canceled)
		}
	}
}

func (t *trial) receive(h *workerHandle, m message) {
	switch {
	case m.LastStats != nil:
		h.done = true
		t.stats.Add(*m.LastStats)
		if m.Err != nil {
			t.end(&exit.Error{Code: m.Err.Code, Text: fmt.Sprintf("worker %d: %s", h.number, m.Err.Text)})
		}
	case m.Err != nil:
		t.lastErr = m.Err
	case m.Runs != nil:
		t.record(h, m.Runs)
	default:
		t.assign(h)
	}
}

// record adds the identifiers that a worker took to the ledger.
func (t *trial) record(h *workerHandle, runs []run) {
	if t.ledger.IDs == 0 && len(t.workers) > 0 {
		t.live.Eventf(time.Now(), "%s take identifiers", term.Plural(len(t.workers), "worker"))
	}
	for _, r := range runs {
		if r.Number < 1 || r.Count < 1 || r.Number > math.MaxInt64-(r.Count-1) {
			t.end(fmt.Errorf("bug: invalid run %+v", r))
			return
		}
		at, before := t.ledger.SeriesOf(r.ID), t.ledger.Duplicates
		high := r.Number + r.Count - 1
		if again := t.ledger.Add(at, proof.Run{Low: r.Number, High: high, Worker: h.number}); again > 0 && before < maxShown {
			text := t.ledger.Series[at].Text(r.Number, t.Separator)
			if r.Count > 1 {
				text += " to " + t.ledger.Series[at].Text(high, t.Separator)
			}
			t.live.Eventf(time.Now(), "%s %d of %s, issued to worker %d, were issued before", t.Style(t.Stderr).Red("DUPLICATES:"), again, text, h.number)
		}
		h.assigned -= r.Count
	}
	t.lastReport, t.lastErr, t.fruitless = time.Now(), nil, 0
	if t.ledger.IDs >= t.IDs {
		t.end(nil)
	}
}

// tick ends the trial when it is over, kills a worker when that is due, and shows the progress.
func (t *trial) tick() {
	if t.began.IsZero() || !t.ended.IsZero() {
		return
	}
	now := time.Now()
	quiet := now.Sub(t.lastReport)
	if t.Rate > 0 { // a worker may be idle for as long
		quiet -= time.Duration(t.Workers) * time.Second / time.Duration(t.Rate)
	}
	switch {
	case t.Duration > 0 && now.Sub(t.began) >= t.Duration:
		t.end(nil)
		return
	case quiet >= t.GiveUp:
		t.end(t.giveUpError())
		return
	}
	if t.KillWorkers && now.After(t.nextKill) {
		t.killWorker()
	}
	p := t.progress()
	t.bar.Set(p.Count, p.Share, p.Note)
}

// giveUpError returns the error of a trial that makes no progress. It includes the latest error of a worker.
func (t *trial) giveUpError() error {
	err := &exit.Error{Code: exit.Unavailable, Text: fmt.Sprintf("ended: no worker got an identifier for %s (--give-up)", t.GiveUp)}
	if t.lastErr != nil {
		err.Code = t.lastErr.Code
		err.Text += "; " + t.lastErr.Text
	}
	return err
}

// end stops all workers. err is the reason if the trial ends early, and the first reason is kept.
func (t *trial) end(err error) {
	t.err = cmp.Or(t.err, err)
	if t.ended.IsZero() {
		t.ended = time.Now()
		t.stopWorkers()
	}
}

// progress returns the progress by count or by time, whichever is further.
func (t *trial) progress() term.Progress {
	p := term.Progress{Unit: "ids", Count: t.ledger.IDs, Note: term.Plural(t.ledger.Duplicates, "duplicate")}
	if t.Duration > 0 {
		p.Share = max(float64(t.ledger.IDs)/float64(t.IDs), time.Since(t.began).Seconds()/t.Duration.Seconds())
	} else {
		p.Total = t.IDs
	}
	var down []string
	for _, m := range t.masters {
		if m.down.Load() {
			down = append(down, m.Label())
		}
	}
	if down != nil {
		p.Note += "  down: " + strings.Join(down, ", ")
	}
	return p
}

// verdict returns why the trial failed. Duplicates outrank t.err, and left, which names keys that were not removed, is added.
func (t *trial) verdict(left error) error {
	err := exit.After(t.err, t.ledger.IDs)
	if t.ledger.Duplicates > 0 {
		err = &exit.Error{Code: exit.Fault, Cause: err,
			Text: fmt.Sprintf("%s among %s", term.Plural(t.ledger.Duplicates, "duplicate"), term.Plural(t.ledger.IDs, "id"))}
	}
	return errors.Join(err, left)
}
