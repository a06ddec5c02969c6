package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
)

// outage is a time in which a server did not answer.
type outage struct {
	from, to time.Time // to is zero: it was still away at the end
	changed  bool      // what answered then was another process: restarted, or a replica that was promoted
	reason   string
}

const (
	watchEvery   = 200 * time.Millisecond
	watchTimeout = time.Second
)

// watcher looks now and then whether a server answers, and says when that changes.
type watcher struct {
	target target
	client redis.UniversalClient
	key    string        // of the prefix: on a cluster the namespace's own primary is asked
	adds   prefix.Server // what is to stand there
	admin  *allocator.Admin
	screen *screen

	mu      sync.Mutex
	process string // run_id of the server, "": unknown
	outages []outage
	away    bool // the last of them is not over
}

// watch returns when ctx ends.
func (w *watcher) watch(ctx context.Context) {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			w.look(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// look asks once.
func (w *watcher) look(ctx context.Context) {
	began := time.Now()
	process, err := w.ask(ctx)
	if ctx.Err() == nil {
		w.note(began, process, err)
	}
}

// ask gives the server's run_id, if it tells that.
func (w *watcher) ask(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	there, err := w.client.Exists(ctx, w.key).Result()
	if err != nil {
		return "", err
	}
	if there == 0 && !w.adds.IsZero() {
		w.restore(ctx)
	}
	if w.target.cluster != nil { // any node may answer
		return "", nil
	}
	info, err := w.client.Info(ctx, "server").Result()
	if err != nil {
		return "", nil // it answers, and does not permit this or has just gone away: the next look tells
	}
	_, rest, _ := strings.Cut(info, "run_id:")
	process, _, _ := strings.Cut(rest, "\r")
	return process, nil
}

// restore gives a server that lost everything, as one without persistence does, its prefix back. Without it none of
// several servers may give a thing, and the proof would be over.
func (w *watcher) restore(ctx context.Context) {
	if err := w.admin.SetServerPrefix(ctx, w.adds); err == nil {
		w.screen.eventf(time.Now(), "%s lost its prefix with what else it had; it has it again", w.target.label())
	}
}

func (w *watcher) note(at time.Time, process string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	changed := process != "" && w.process != "" && process != w.process
	if process != "" {
		w.process = process
	}
	name := w.target.label()
	switch {
	case err != nil && !w.away:
		reason := whyAway(err)
		w.outages = append(w.outages, outage{from: at, reason: reason})
		w.away = true
		w.screen.eventf(at, "%s went away: %s", name, reason)
	case err == nil && w.away:
		w.away = false
		last := &w.outages[len(w.outages)-1]
		last.to, last.changed = time.Now(), changed
		what := "" // which process that is may be unknown
		switch {
		case changed:
			what = ": restarted or promoted"
		case process != "":
			what = ": the same process"
		}
		w.screen.eventf(last.to, "%s is back after %.1f s%s", name, last.to.Sub(last.from).Seconds(), what)
	case err == nil && changed: // between two looks
		w.outages = append(w.outages, outage{from: at, to: at, changed: true, reason: "another process answers"})
		w.screen.eventf(at, "%s is another process now: restarted or promoted", name)
	}
}

// whyAway is why a server did not answer, in a few words.
func whyAway(err error) string {
	var operation *net.OpError
	switch {
	case errors.As(err, &operation):
		return operation.Err.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("no answer within %s", watchTimeout)
	}
	return err.Error()
}

// found is what was seen, and the name of the server if it is away.
func (w *watcher) found() (all []outage, away string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.away {
		away = w.target.label()
	}
	return append(all, w.outages...), away
}

// label is what a server is called: its name or, if it has none, its address.
func (t target) label() string {
	if t.name != "" {
		return t.name
	}
	return t.addr
}
