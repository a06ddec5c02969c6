package ravendb

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
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
	target := fmt.Sprintf("/databases/Shop/identity/next?name=companies&raft-request-id=7&value=%s", strings.Repeat("x", size))
	w.answers(http.MethodPost, target, http.StatusOK, `{"NewIdentityValue":8}`)
}

func TestAnswersAreRememberedForAMinute(t *testing.T) {
	t.Parallel()
	client := redistest.NewClient(t, redistest.StartMini(t))
	synctest.Test(t, func(t *testing.T) {
		h := mustNew(t, Options{Client: client})
		first := h.remember(requestID{1})
		time.Sleep(answerMemory - 1)
		if h.remember(requestID{1}) != first {
			t.Errorf("got another answer within %v, want the same", answerMemory)
		}
		time.Sleep(1)
		synctest.Wait()
		if len(h.answers) != 0 {
			t.Errorf("got %d answers after %v, want none", len(h.answers), answerMemory)
		}
	})
}

func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	client := redistest.NewClient(t, redistest.StartMini(t))
	synctest.Test(t, func(t *testing.T) {
		h := mustNew(t, Options{Client: client})
		first := h.remember(requestID{1})
		for i := range maxAnswers {
			h.remember(requestID{byte(i), byte(i >> 8), byte(i >> 16), 2})
		}
		if len(h.answers) != maxAnswers || h.remember(requestID{1}) != first {
			t.Errorf("got %d answers, want %d, the first one among them", len(h.answers), maxAnswers)
		}
	})
}

func TestOnceSendsAgainAfterAFailureOrAPanic(t *testing.T) {
	t.Parallel()
	h := mustNew(t, Options{Client: redistest.NewClient(t, redistest.StartMini(t))})
	i := identityRequest{database: new(database), id: requestID{1}}
	once := func(send func(context.Context) (int64, error)) (int64, error) {
		return h.once(httptest.NewRequest(http.MethodPost, "/", nil), i, send)
	}
	failed := errors.New("failed")
	if _, err := once(func(context.Context) (int64, error) { return 0, failed }); !errors.Is(err, failed) {
		t.Errorf("got %v, want %v", err, failed)
	}
	func() {
		defer func() { _ = recover() }()
		_, _ = once(func(context.Context) (int64, error) { panic("a hook of the client") })
	}()
	for _, answer := range []int64{7, 8} {
		if got, err := once(func(context.Context) (int64, error) { return answer, nil }); got != 7 || err != nil {
			t.Errorf("got %d, %v, want 7", got, err)
		}
	}
}
