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

func TestAnswersRememberForAMinute(t *testing.T) {
	t.Parallel()
	a := answers{byID: make(map[requestID]*answer)}
	now := time.Now()
	first := a.get(requestID{1}, now)
	if got := a.get(requestID{1}, now.Add(answerMemory-1)); got != first {
		t.Errorf("got another answer within %v, want the same", answerMemory)
	}
	if got := a.get(requestID{1}, now.Add(answerMemory)); got == first {
		t.Errorf("got the same answer after %v, want another", answerMemory)
	}
	if len(a.order) != 1 || len(a.byID) != 1 {
		t.Errorf("got %d and %d, want 1", len(a.order), len(a.byID))
	}
}

func TestAnswersDropTheOldest(t *testing.T) {
	t.Parallel()
	a := answers{byID: make(map[requestID]*answer)}
	now := time.Now()
	for i := range maxAnswers + 1 {
		a.get(requestID{byte(i), byte(i >> 8), byte(i >> 16), 1}, now)
	}
	if _, kept := a.byID[requestID{0, 0, 0, 1}]; kept || len(a.order) != maxAnswers || len(a.byID) != maxAnswers {
		t.Errorf("got the oldest kept: %t, %d and %d answers, want it dropped of %d", kept, len(a.order), len(a.byID), maxAnswers)
	}
}

func TestAnswersAskAgainAfterAFailureOrAPanic(t *testing.T) {
	t.Parallel()
	a := answers{byID: make(map[requestID]*answer)}
	failed := errors.New("failed")
	if _, err := a.do(requestID{1}, func() (int64, error) { return 0, failed }); !errors.Is(err, failed) {
		t.Errorf("got %v, want %v", err, failed)
	}
	func() {
		defer func() { _ = recover() }()
		_, _ = a.do(requestID{1}, func() (int64, error) { panic("a hook of the client") })
	}()
	for _, answer := range []int64{7, 8} {
		if got, err := a.do(requestID{1}, func() (int64, error) { return answer, nil }); got != 7 || err != nil {
			t.Errorf("got %d, %v, want 7", got, err)
		}
	}
}
