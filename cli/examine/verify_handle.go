package examine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/term"
)

// workerHandle is the trial's side of a worker.
type workerHandle struct {
	number   int
	in       io.WriteCloser
	kill     func() // nil if the worker is a goroutine
	assigned int64  // identifiers that it has not reported yet
	ready    bool
	done     bool // the last message arrived, or the trial killed the worker
}

// startWorker starts a worker for its share of the unassigned identifiers, unless the trial is ending.
func (t *trial) startWorker(ctx context.Context) {
	if !t.ended.IsZero() {
		return
	}
	t.started++
	h := &workerHandle{number: t.started, assigned: t.unassigned / int64(max(1, t.Workers-t.started+1))}
	start := t.startProcess
	if t.Goroutines {
		start = t.startGoroutine
	}
	out, wait, err := start(ctx, h, term.Named(t.live, fmt.Sprintf("worker %d", h.number)))
	if err != nil {
		t.end(err)
		return
	}
	t.unassigned -= h.assigned
	t.workers = append(t.workers, h)
	go func() {
		from := json.NewDecoder(out)
		for m := new(message); from.Decode(m) == nil; m = new(message) {
			t.events <- func() { t.receive(h, *m) }
		}
		err := cmp.Or(wait(), errors.New("no message"))
		t.events <- func() { t.workerEnded(ctx, h, err) }
	}()
}

// startProcess starts a worker as a process of its own.
func (t *trial) startProcess(ctx context.Context, h *workerHandle, log io.Writer) (out io.Reader, wait func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, fmt.Errorf("cannot find the program hilo, to start a worker (%w); try --goroutines", err)
	}
	command := exec.CommandContext(ctx, self, "verify", base.Dashed(flagAsWorker), fmt.Sprintf("--collections=%d", len(t.Collections)))
	command.Stderr = log
	command.Cancel = func() error { return h.in.Close() } // ends the worker gracefully; it is killed after WaitDelay
	command.WaitDelay = t.servers.Patience(t.Timeout) + t.Timeout
	if h.in, err = command.StdinPipe(); err != nil {
		return nil, nil, err
	}
	if out, err = command.StdoutPipe(); err != nil {
		return nil, nil, err
	}
	if err := command.Start(); err != nil {
		return nil, nil, fmt.Errorf("cannot start a worker process (%w); try --goroutines", err)
	}
	h.kill = func() { _ = command.Process.Kill() }
	// Without its settings a worker could not send a last message. An error means that it ended, and is reported then.
	_ = json.NewEncoder(h.in).Encode(t.settings)
	return out, command.Wait, nil
}

// startGoroutine starts a worker in this process.
func (t *trial) startGoroutine(ctx context.Context, h *workerHandle, log io.Writer) (out io.Reader, wait func() error, err error) {
	in, assignments := io.Pipe()
	out, to := io.Pipe()
	h.in = assignments
	context.AfterFunc(ctx, func() { _ = assignments.Close() })
	own := *t.Session
	own.Log = base.NewLogger(log, t.Log.Level())
	w := &worker{Session: &own, servers: t.servers, collections: t.Collections, in: json.NewDecoder(in), out: json.NewEncoder(to)}
	go func() {
		err := w.Run(context.WithoutCancel(ctx)) // it ends with its input, like a process
		_ = in.Close()
		_ = to.CloseWithError(err)
	}()
	return out, func() error { return nil }, nil
}

// assign sends the assignment to a worker that is ready. The first workers wait for each other, so that all take part.
func (t *trial) assign(h *workerHandle) {
	h.ready = true
	starting := []*workerHandle{h}
	if t.began.IsZero() {
		if slices.ContainsFunc(t.workers, func(h *workerHandle) bool { return !h.ready }) {
			return
		}
		t.began, t.bar = time.Now(), t.live.NewBar(t.progress())
		t.lastReport, starting = t.began, t.workers
	}
	for _, h := range starting { // an error means that the worker ended, and is reported then
		_ = json.NewEncoder(h.in).Encode(assignment{IDs: h.assigned, Rate: float64(t.Rate) / float64(t.Workers)})
	}
}

// workerEnded replaces a worker. Its replacement takes the identifiers that it did not report.
func (t *trial) workerEnded(ctx context.Context, h *workerHandle, err error) {
	t.workers = slices.DeleteFunc(t.workers, func(other *workerHandle) bool { return other == h })
	t.unassigned += h.assigned
	switch {
	case h.done:
	case !h.ready && t.ended.IsZero():
		t.end(fmt.Errorf("worker %d ended before it began (%w)", h.number, err))
	default:
		t.lost++
		if t.fruitless++; t.fruitless > maxFruitless {
			t.end(fmt.Errorf("%d workers in a row ended without a message, the last of them with: %w", t.fruitless, err))
		}
		if t.ended.IsZero() {
			t.live.Eventf(time.Now(), "worker %d is gone (%v); starting another", h.number, err)
		}
	}
	t.startWorker(ctx)
}

// killWorker kills a random worker and schedules the next kill.
func (t *trial) killWorker() {
	t.nextKill = time.Now().Add(50*time.Millisecond + rand.N(400*time.Millisecond))
	h := t.workers[rand.IntN(len(t.workers))]
	if h.ready && !h.done {
		h.done = true
		t.killed++
		h.kill()
	}
}
