package scripts

import (
	"context"
	"errors"
	"time"
)

const (
	// syncTime is the time from the answer to the first question to the second one, and syncClock the least time between them
	// by the server's clock.
	syncTime  = 1200 * time.Millisecond
	syncClock = time.Second
	// pendingStep is the time after which a question is asked again because a sync was pending, and pendingTries how often.
	pendingStep  = 50 * time.Millisecond
	pendingTries = 200
)

// Ask waits until what was written before the call is known to be on the disk of a durable server, and then permits what the
// requests have. send sends requests as Permit does, and server is the key of the settings. It returns the outcome of each
// request, and the error that all of them share. That is ErrNotDurable if something is in the way.
//
// The questions, and why they prove it, are in permit.lua. A server with appendfsync always needs none, because it replies to a
// write when that is on disk.
func Ask(ctx context.Context, send func(ctx context.Context, requests ...PermitRequest) []Permitted, server string, always bool, requests ...PermitRequest) ([]error, error) {
	question := PermitRequest{Keys: Keys{Counter: server, Server: server, Other: server}}
	if !always {
		first, err := askOne(ctx, send, question)
		for clock := first; err == nil && clock < first+syncClock; {
			wait(ctx, syncTime)
			clock, err = askOne(ctx, send, question)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(requests) == 0 {
		_, err := askOne(ctx, send, question)
		return nil, err
	}
	errs := make([]error, len(requests))
	for i, got := range askPatiently(ctx, send, requests) {
		errs[i] = got.Err
	}
	return errs, nil
}

// askOne sends one question, and returns the server's clock.
func askOne(ctx context.Context, send func(context.Context, ...PermitRequest) []Permitted, question PermitRequest) (time.Duration, error) {
	got := askPatiently(ctx, send, []PermitRequest{question})[0]
	return got.Clock, got.Err
}

// askPatiently sends requests, and those again that a pending sync is in the way of.
func askPatiently(ctx context.Context, send func(context.Context, ...PermitRequest) []Permitted, requests []PermitRequest) []Permitted {
	all := make([]Permitted, len(requests))
	places := make([]int, len(requests))
	for i := range places {
		places[i] = i
	}
	for range pendingTries {
		again := make([]PermitRequest, len(places))
		for n, i := range places {
			again[n] = requests[i]
		}
		var pending []int
		for n, got := range send(ctx, again...) {
			if err := ctx.Err(); err != nil && got.Err != nil {
				got.Err = err
			}
			all[places[n]] = got
			if errors.Is(got.Err, ErrPending) {
				pending = append(pending, places[n])
			}
		}
		if places = pending; len(places) == 0 {
			break
		}
		wait(ctx, pendingStep)
	}
	return all
}

// wait waits for a time, or for the end of ctx.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
