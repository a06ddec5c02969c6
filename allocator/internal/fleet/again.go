package fleet

import (
	"context"
	"errors"
	"net"

	"github.com/hilo-id/hilo/allocator/internal/dial"
)

// sendAgain sends a request, and sends it once more, at once, if its connection had ended. Nothing shows beforehand that a server
// or a balancer closed an idle connection with TLS. The older connections are suspect by then, so that the client makes a new one.
// The request may have been served, so it has to be one that can be repeated, by its token.
func sendAgain[R any](ctx context.Context, send func() (R, error)) (R, error) {
	for repeated := false; ; {
		got, err := send()
		switch {
		case err == nil || ctx.Err() != nil:
			return got, err
		case errors.Is(err, dial.ErrSuspect): // nothing was sent, and the pool has one suspect connection less
		case connectionEnded(err) && !repeated:
			repeated = true
		default:
			return got, err
		}
	}
}

// sendAllAgain is sendAgain for requests that have results of their own.
func sendAllAgain[Q, R any](ctx context.Context, requests []Q, send func([]Q) []R, errOf func(R) error) []R {
	results := make([]R, len(requests))
	left := make([]int, len(requests)) // requests to send, by their index
	for i := range left {
		left[i] = i
	}
	_, _ = sendAgain(ctx, func() (_ struct{}, failed error) { // each result has its error
		batch := make([]Q, len(left))
		for n, i := range left {
			batch[n] = requests[i]
		}
		var again []int
		for n, r := range send(batch) {
			results[left[n]] = r
			if err := errOf(r); connectionEnded(err) || errors.Is(err, dial.ErrSuspect) {
				again, failed = append(again, left[n]), err
			}
		}
		left = again
		return struct{}{}, failed
	})
	return results
}

// connectionEnded reports whether a request failed because the other side had closed its connection. That does not mean that the
// server is down, unlike a failure to dial.
func connectionEnded(err error) bool {
	if operation, ok := errors.AsType[*net.OpError](err); ok && operation.Op == "dial" {
		return false
	}
	return dial.ClosedByPeer(err)
}
