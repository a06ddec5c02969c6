package interleavings

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/hilo-id/hilo/scripts"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var keys = scripts.Keys{
	Counter: "{Raven}/HiLo/orders",
	Server:  "{Raven}/ServerPrefixForHilo",
	Other:   "{Raven}/Identities/orders",
}
