// Package gate holds back requests to a server that is down.
package gate

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hilo-id/hilo/allocator/gateway/internal/sentinel"
	"github.com/hilo-id/hilo/allocator/internal/fleet"
)

// Gate is the back-off of requests to a server that are not for numbers, and that no Fleet sends. While the server answers,
// they pass. After a failure they follow one another, each after the back-off, and a request that waits while another one
// fails gets its error. So a server that is down costs few connections, whatever the number of callers. It is safe for
// concurrent use.
type Gate struct {
	start time.Time
	turn  chan struct{} // holds one element while a request is in flight after a failure

	mu      sync.Mutex // guards what follows
	backoff fleet.Backoff
	failed  error     // of the latest request, or nil
	at      time.Time // of failed
}

// New returns a Gate that is open.
func New() *Gate { return &Gate{turn: make(chan struct{}, 1), start: time.Now()} }

// Pass calls send when a request may be sent, and returns its results. If ctx is canceled the request proves nothing.
func Pass[T any](ctx context.Context, g *Gate, send func() (T, error)) (reply T, err error) {
	began := time.Now()
	if _, _, failed := g.state(); failed != nil {
		select {
		case g.turn <- struct{}{}:
			defer func() { <-g.turn }()
		case <-ctx.Done():
			return reply, ctx.Err()
		}
		at, wait, failed := g.state()
		if failed != nil && at.After(began) {
			return reply, failed
		}
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return reply, ctx.Err()
		}
	}
	reply, err = send()
	g.record(ctx, err, err != nil && sentinel.Temporary(err))
	return reply, err
}

// state returns when the latest request failed, the rest of the back-off, and its error, or nil if the server answers.
func (g *Gate) state() (at time.Time, wait time.Duration, failed error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.at, g.backoff.Wait(time.Since(g.start)), g.failed
}

func (g *Gate) record(ctx context.Context, err error, down bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case !down:
		g.backoff, g.failed = fleet.Backoff{}, nil
	case !errors.Is(ctx.Err(), context.Canceled):
		g.backoff.Fail(time.Since(g.start), fleet.MaxBackoff)
		g.failed, g.at = err, time.Now()
	}
}
