package faults

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hilo-id/hilo/allocator"
)

// drill measures for how long the users of a service cannot use it.
type drill struct {
	t       *testing.T
	running sync.WaitGroup
	ended   chan struct{}

	mu    sync.Mutex // guards the rest, and the users
	users []*user
	used  map[string]string // by text, the user
	lost  time.Time         // when the service was lost
	late  time.Duration     // how long this machine had a timer wait for nothing
}

// user repeats one call, and each call until it succeeds.
type user struct {
	name            string
	calls, failures int
	after           int           // calls that began after the loss
	longest         time.Duration // from the begin of a call, or the loss, to its success
}

func newDrill(t *testing.T) *drill {
	d := &drill{t: t, ended: make(chan struct{}), used: map[string]string{}}
	d.running.Go(func() {
		const wait = 10 * time.Millisecond
		for d.goesOn() {
			began := time.Now()
			pass(wait)
			d.mu.Lock()
			d.late = max(d.late, time.Since(began)-wait)
			d.mu.Unlock()
		}
	})
	return d
}

func (d *drill) goesOn() bool {
	select {
	case <-d.ended:
		return false
	case <-d.t.Context().Done():
		return false
	default:
		return true
	}
}

// repeat starts a user. The i-th call returns what it took, which no other call may have taken.
func (d *drill) repeat(name string, call func(ctx context.Context, i int) ([]string, error)) {
	u := &user{name: name}
	d.users = append(d.users, u)
	d.running.Go(func() {
		for i := 0; d.goesOn(); i++ {
			began := time.Now()
			ids, err := call(d.t.Context(), i)
			for ; err != nil && d.goesOn(); ids, err = call(d.t.Context(), i) {
				d.mu.Lock()
				u.failures++
				d.mu.Unlock()
				if !allocator.Retryable(err) && !errors.Is(err, errUnavailable) {
					d.t.Errorf("%s: got %v, want an error that passes", name, err)
				}
				pass(time.Millisecond)
			}
			if err == nil {
				d.succeed(u, began, ids)
			}
			pass(time.Millisecond)
		}
	})
}

func (d *drill) succeed(u *user, began time.Time, ids []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	u.calls++
	for _, id := range ids {
		if before, ok := d.used[id]; ok {
			d.t.Errorf("%s was issued to %s and to %s", id, before, u.name)
		}
		d.used[id] = u.name
	}
	if d.lost.IsZero() {
		return
	}
	if began.Before(d.lost) {
		began = d.lost
	} else {
		u.after++
	}
	u.longest = max(u.longest, time.Since(began))
}

// lose records that the service is lost now.
func (d *drill) lose() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lost, d.late = time.Now(), 0
}

// await waits until so holds of each user.
func (d *drill) await(so func(u *user) bool) {
	d.t.Helper()
	deadline := time.After(patience)
	for {
		d.mu.Lock()
		waits := slices.IndexFunc(d.users, func(u *user) bool { return !so(u) })
		d.mu.Unlock()
		if waits < 0 {
			return
		}
		select {
		case <-deadline:
			d.t.Fatalf("%s: got %+v", d.users[waits].name, *d.users[waits])
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// end stops the users and waits for them.
func (d *drill) end() {
	close(d.ended)
	d.running.Wait()
}
