package verify

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

// hand is a worker as the proof knows it.
type hand struct {
	number int
	in     io.WriteCloser
	kill   func() // nil: it is no process
	share  int64  // what is left of it
	ready  bool
	over   bool // it said its last word, or was killed
}

// launch starts one more worker, for its part of what nobody was told to take, unless it is the end.
func (t *trial) launch(ctx context.Context) {
	if t.ending {
		return
	}
	t.newest++
	h := &hand{number: t.newest, share: t.left / int64(max(1, t.Workers-t.newest+1))}
	start := t.process
	if t.Goroutines {
		start = t.goroutine
	}
	out, wait, err := start(ctx, h, term.Named(t.screen, fmt.Sprintf("worker %d", h.number)))
	if err != nil {
		t.end(err)
		return
	}
	t.left -= h.share
	t.hands = append(t.hands, h)
	go func() {
		for from := json.NewDecoder(out); err == nil; {
			var said word
			if err = from.Decode(&said); err == nil {
				t.reports <- func() { t.hear(h, said) }
			}
		}
		err = cmp.Or(wait(), errors.New("it said nothing"))
		t.reports <- func() { t.ended(ctx, h, err) }
	}()
}

// process starts a worker as a process of its own.
func (t *trial) process(ctx context.Context, h *hand, log io.Writer) (out io.Reader, wait func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, fmt.Errorf("hilo cannot find itself, to start a worker (%w); try --goroutines", err)
	}
	command := exec.CommandContext(ctx, self, "verify", base.Dashed(flagAsWorker), fmt.Sprintf("--collections=%d", len(t.Collections)))
	command.Stderr = log
	command.Cancel = func() error { return h.in.Close() } // it is told to end in good order, and killed where it does not
	command.WaitDelay = t.servers.Patience(t.Timeout) + t.Timeout
	if h.in, err = command.StdinPipe(); err != nil {
		return nil, nil, err
	}
	if out, err = command.StdoutPipe(); err != nil {
		return nil, nil, err
	}
	if err := command.Start(); err != nil {
		return nil, nil, fmt.Errorf("a worker process does not start (%w); try --goroutines", err)
	}
	h.kill = func() { _ = command.Process.Kill() }
	// Now: one that is told to end before it knows what it is could not say a last word. If it is gone, its end is reported.
	_ = json.NewEncoder(h.in).Encode(t.settings)
	return out, command.Wait, nil
}

// goroutine starts a worker in this process.
func (t *trial) goroutine(ctx context.Context, h *hand, log io.Writer) (out io.Reader, wait func() error, err error) {
	in, grants := io.Pipe()
	out, to := io.Pipe()
	h.in = grants
	context.AfterFunc(ctx, func() { _ = grants.Close() })
	own := *t.Session
	own.Log = base.NewLogger(log, t.Log.Level())
	w := &worker{Session: &own, servers: t.servers, collections: t.Collections, in: json.NewDecoder(in), out: json.NewEncoder(to)}
	go func() {
		err := w.Run(context.WithoutCancel(ctx)) // it is told to end by its stream, as a process is
		_ = in.Close()
		_ = to.CloseWithError(err)
	}()
	return out, func() error { return nil }, nil
}

// begin has a worker that is ready take its share. The first ones wait for each other, so that they all take part.
func (t *trial) begin(h *hand) {
	h.ready = true
	starting := []*hand{h}
	if t.began.IsZero() {
		if slices.ContainsFunc(t.hands, func(h *hand) bool { return !h.ready }) {
			return
		}
		t.began = time.Now()
		t.progressed, starting = t.began, t.hands
	}
	for _, h := range starting { // if it is gone, its end is reported
		_ = json.NewEncoder(h.in).Encode(share{IDs: h.share, Rate: float64(t.Rate) / float64(t.Workers)})
	}
}

// ended is about a worker that is no more. What it took and did not report counts for nothing, and another one is to take
// as many.
func (t *trial) ended(ctx context.Context, h *hand, err error) {
	t.hands = slices.DeleteFunc(t.hands, func(other *hand) bool { return other == h })
	t.left += h.share
	switch {
	case h.over:
	case !h.ready && !t.ending:
		t.end(fmt.Errorf("worker %d did not get as far as to begin (%w)", h.number, err))
	default:
		t.result.Lost++
		if t.useless++; t.useless > uselessMost {
			t.end(fmt.Errorf("%d workers in a row ended without a word, the last of them with: %w", t.useless, err))
		}
		if !t.ending {
			t.screen.Eventf(time.Now(), "worker %d is gone (%v); another takes its place", h.number, err)
		}
	}
	t.launch(ctx)
}

// killOne kills a worker, and has the next one killed 50 to 450 ms from now.
func (t *trial) killOne() {
	t.nextKill = time.Now().Add(50*time.Millisecond + rand.N(400*time.Millisecond))
	h := t.hands[rand.IntN(len(t.hands))]
	if h.ready && !h.over {
		h.over = true
		t.result.Killed++
		h.kill()
	}
}
