package metrics_test

import (
	"testing"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	logging.Disable() // go-redis reports what tests bring about on purpose
	goleak.VerifyTestMain(m)
}
