package ravendb

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

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
