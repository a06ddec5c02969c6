package ravendb

import (
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// Clients choose the length of a request's parameters, and requests with an id of their own are remembered.
//
//nolint:paralleltest // it measures memory, which tests in parallel would share
func TestAnswersKeepADigestOfTheRequest(t *testing.T) {
	const requests, size = 1000, 8000
	w := newWire(t, redistest.StartMini(t))
	send := func(from, to int) {
		for i := from; i < to; i++ {
			target := fmt.Sprintf("/databases/Shop/identity/next?name=companies&raft-request-id=%d&value=%s", i, strings.Repeat("x", size))
			w.answers(http.MethodPost, target, http.StatusOK, fmt.Sprintf(`{"NewIdentityValue":%d}`, i+1))
		}
	}
	inUse := func() int64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return int64(stats.HeapAlloc)
	}
	send(0, 100)
	before := inUse()
	send(100, 100+requests)
	if grown := inUse() - before; grown > requests*size/4 {
		t.Errorf("got %d bytes more in use after %d requests of %d bytes, want at most %d", grown, requests, size, requests*size/4)
	}
	w.answers(http.MethodPost, "/databases/Shop/identity/next?name=companies&raft-request-id=7", http.StatusOK, `{"NewIdentityValue":8}`)
}

func TestAnswersRememberUntilTheirTime(t *testing.T) {
	t.Parallel()
	full := errors.New("full")
	for _, tt := range []struct {
		name string
		full error
	}{{"dropping the oldest", nil}, {"refusing", full}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := answers{max: 3, memory: time.Minute, full: tt.full}
			now := time.Now()
			for i := range 4 {
				if _, first, err := a.remember(requestID{byte(i + 1)}, now); i < 3 && (!first || err != nil) || i == 3 && !errors.Is(err, tt.full) {
					t.Fatalf("remember(%d): got %t, %v, want true, <nil> for the first three, then %v", i, first, err, tt.full)
				}
			}
			if _, first, err := a.remember(requestID{1}, now); tt.full != nil && (first || err != nil) || tt.full == nil && !first {
				t.Errorf("the oldest: got %t, %v, want it remembered: %t", first, err, tt.full != nil)
			}
			for i := range 3 {
				if _, first, err := a.remember(requestID{byte(i + 1)}, now.Add(time.Minute)); !first || err != nil {
					t.Errorf("remember(%d) after a minute: got %t, %v, want true", i, first, err)
				}
			}
			if len(a.order) != 3 || len(a.byID) != 3 {
				t.Errorf("got %d and %d, want 3", len(a.order), len(a.byID))
			}
		})
	}
}

func TestAnswersAsksAgainAfterAPanic(t *testing.T) {
	t.Parallel()
	a := answers{max: 3, memory: time.Minute}
	func() {
		defer func() { _ = recover() }()
		_, _ = a.do(t.Context(), requestID{1}, func(*answer) (int64, error) { panic("a hook of the client") })
	}()
	if got, err := a.do(t.Context(), requestID{1}, func(*answer) (int64, error) { return 7, nil }); got != 7 || err != nil {
		t.Errorf("got %d, %v, want 7", got, err)
	}
}
