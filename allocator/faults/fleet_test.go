package faults

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hilo-id/hilo/allocator/proof"
	"github.com/hilo-id/hilo/prefix"
)

// fleet is a set of workers, each a process of its own, and the record of what they used.
type fleet struct {
	t       *testing.T
	bare    bool
	dir     string
	workers []*worker // also those that ended
}

// proves runs a fault twice, each time on servers of its own. Workers that only increment a counter have to use numbers twice
// under it, and workers of hilo must not.
func proves(t *testing.T, fault func(t *testing.T, f *fleet)) {
	t.Helper()
	t.Run("increment and hope", func(t *testing.T) {
		t.Parallel()
		f := newFleet(t, true)
		fault(t, f)
		f.stop()
		if f.ledger().Duplicates == 0 {
			t.Error("no number was used twice: the fault does not show")
		}
	})
	t.Run("hilo", func(t *testing.T) {
		t.Parallel()
		holds(t, fault)
	})
}

// holds runs a fault under workers of hilo only, for faults under which the bare way does not repeat numbers either.
func holds(t *testing.T, fault func(t *testing.T, f *fleet)) {
	t.Helper()
	f := newFleet(t, false)
	fault(t, f)
	f.stop()
	l := f.ledger()
	for _, s := range l.Series {
		for _, r := range s.Repetitions() {
			var by []string
			for _, i := range r.Workers {
				by = append(by, f.workers[i].name)
			}
			t.Errorf("%s: %d to %d were used by each of %v", s.Collection, r.Low, r.High, by)
		}
	}
	t.Logf("%d workers used %d numbers, %d of them twice", len(f.workers), l.IDs, l.Duplicates)
}

func newFleet(t *testing.T, bare bool) *fleet {
	t.Helper()
	f := &fleet{t: t, bare: bare, dir: t.TempDir()}
	t.Cleanup(func() {
		for _, w := range f.workers {
			w.kill()
			if t.Failed() {
				t.Logf("%s used %d numbers; its last error: %s; it said: %s", w.name, w.used, w.lastError(), w.stderr.String())
			}
		}
	})
	return f
}

// start starts n workers with the same job.
func (f *fleet) start(n int, j job) []*worker {
	f.t.Helper()
	for range n {
		w := &worker{t: f.t, name: fmt.Sprintf("worker %d", len(f.workers)+1)}
		j.Bare, j.Journal = f.bare, filepath.Join(f.dir, w.name)
		w.start(j)
		f.workers = append(f.workers, w)
	}
	return f.workers[len(f.workers)-n:]
}

// running returns the workers that were neither killed nor stopped.
func (f *fleet) running() []*worker {
	var all []*worker
	for _, w := range f.workers {
		if !w.ended {
			all = append(all, w)
		}
	}
	return all
}

// stop terminates all workers, each of which closes its allocator, and waits for them.
func (f *fleet) stop() {
	f.t.Helper()
	for _, w := range f.running() {
		w.signal(syscall.SIGTERM)
	}
	for _, w := range f.running() {
		w.wait()
	}
}

func (f *fleet) kill() {
	for _, w := range f.running() {
		w.kill()
	}
}

// ledger returns a ledger of what all workers used.
func (f *fleet) ledger() *proof.Ledger {
	f.t.Helper()
	l := new(proof.Ledger)
	for i, w := range f.workers {
		w.read()
		for _, c := range w.claims {
			l.Add(l.SeriesOf(prefix.ID{Collection: c.Space}), proof.Run{Low: c.Low, High: c.High, Worker: i})
		}
	}
	return l
}

// used returns how many numbers all workers have used so far.
func (f *fleet) used() int64 { return f.ledger().IDs }

// goesOn reports whether a fault of unlimited length is to continue. It ends when its time is over and, with the bare way, a
// number was used twice.
func (f *fleet) goesOn(began time.Time, short time.Duration) bool {
	f.t.Helper()
	enough := short
	if *long > 0 {
		enough = *long
	}
	passed := time.Since(began)
	return passed < enough || f.bare && passed < enough+patience && f.ledger().Duplicates == 0
}

// writesAreLost waits while a replica misses what is written. With the bare way it also waits until more numbers were used than
// all workers had in hand.
func (f *fleet) writesAreLost(during time.Duration) {
	f.t.Helper()
	pass(during)
	if f.bare {
		f.awaitTotal(10_000) // more than all of them had in hand
	}
}

const patience = 2 * time.Minute

// awaitTotal waits until all workers together have used n more numbers.
func (f *fleet) awaitTotal(n int64) {
	f.t.Helper()
	n += f.used()
	f.await(fmt.Sprintf("%d numbers", n), func() bool { return f.used() >= n })
}

// awaitEach waits until each running worker has used n more numbers.
func (f *fleet) awaitEach(n int64) {
	f.t.Helper()
	for _, w := range f.running() {
		w.awaitUse(n)
	}
}

func (w *worker) awaitUse(n int64) {
	w.t.Helper()
	w.read()
	n += w.used
	await(w.t, fmt.Sprintf("%s to use %d numbers; its last error: %s", w.name, n, w.lastError()), func() bool {
		w.read()
		return w.used >= n
	})
}

// awaitError waits until the worker has reported an error that contains text.
func (w *worker) awaitError(text string) {
	w.t.Helper()
	await(w.t, w.name+" to fail with "+text, func() bool {
		w.read()
		return slices.ContainsFunc(w.errors, func(e failure) bool { return strings.Contains(e.text, text) })
	})
}

func (f *fleet) await(what string, so func() bool) {
	f.t.Helper()
	await(f.t, what, so)
}

func await(t *testing.T, what string, so func() bool) {
	t.Helper()
	deadline := time.After(patience)
	for !so() {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-deadline:
			t.Fatalf("waited %v for %s", patience, what)
		}
	}
}

// worker is one process and what it wrote into its journal so far.
type worker struct {
	t      *testing.T
	name   string
	cmd    *exec.Cmd
	stdin  io.Closer
	stderr bytes.Buffer
	ended  bool

	journal *os.File
	rest    string // a line that is not complete
	claims  []claim
	used    int64
	errors  []failure
	closing []string // errors of Close
}

type failure struct {
	at   time.Time
	text string
}

func (w *worker) start(j job) {
	w.t.Helper()
	text, err := json.Marshal(j)
	if err != nil {
		w.t.Fatal(err)
	}
	if w.journal, err = os.OpenFile(j.Journal, os.O_CREATE|os.O_RDONLY, 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.cmd = exec.Command(os.Args[0])
	w.cmd.Env = append(os.Environ(), jobEnv+"="+string(text))
	w.cmd.Stderr = &w.stderr
	if w.stdin, err = w.cmd.StdinPipe(); err != nil {
		w.t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *worker) signal(s os.Signal) {
	if err := w.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		w.t.Error(err)
	}
}

// wait waits for a worker that was terminated.
func (w *worker) wait() {
	w.t.Helper()
	w.ended = true
	if err := w.cmd.Wait(); err != nil {
		w.t.Errorf("%s: %v: %s", w.name, err, w.stderr.String())
	}
	w.read()
	_ = w.journal.Close()
}

// kill ends a worker as kill -9 does.
func (w *worker) kill() {
	if w.ended {
		return
	}
	w.ended = true
	w.signal(os.Kill)
	_ = w.cmd.Wait()
	w.read()
	_ = w.journal.Close()
}

func (w *worker) lastError() string {
	if len(w.errors) == 0 {
		return "none"
	}
	return w.errors[len(w.errors)-1].text
}

// read reads what the worker has written to its journal since the last call.
func (w *worker) read() {
	text, _ := io.ReadAll(w.journal) // closed when the worker has ended and all was read
	lines := strings.SplitAfter(w.rest+string(text), "\n")
	w.rest = lines[len(lines)-1]
	for _, line := range lines[:len(lines)-1] {
		w.enter(strings.TrimSuffix(line, "\n"))
	}
}

func (w *worker) enter(line string) {
	kind, rest, _ := strings.Cut(line, " ")
	var err error
	switch kind {
	case "u":
		var c claim
		if _, err = fmt.Sscan(rest, &c.Space, &c.Low, &c.High); err == nil {
			w.used += c.High - c.Low + 1
			w.add(c)
		}
	case "e":
		var nanos int64
		_, err = fmt.Sscan(rest, &nanos)
		_, text, _ := strings.Cut(rest, " ")
		w.errors = append(w.errors, failure{time.Unix(0, nanos), text})
	case "c":
		w.closing = append(w.closing, rest)
	default:
		err = errors.New("unknown kind")
	}
	if err != nil {
		w.t.Errorf("%s: journal line %q: %v", w.name, line, err)
	}
}

// add records a claim. A claim that continues the previous one is merged into it.
func (w *worker) add(c claim) {
	if last := len(w.claims) - 1; last >= 0 && w.claims[last].Space == c.Space && w.claims[last].High == c.Low-1 {
		w.claims[last].High = c.High
		return
	}
	w.claims = append(w.claims, c)
}
