package peerbench_test

import (
	"runtime"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// A service has other data beside its identifiers. Without it Go's collector runs whenever 4 MB were allocated, up to 800 times
	// a second and for 40 % of the time.
	heap := make([]byte, 64<<20)
	goleak.VerifyTestMain(m)
	runtime.KeepAlive(heap)
}
