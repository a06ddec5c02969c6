package interleavings

import (
	"testing"

	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// kind is a kind of counter.
type kind struct {
	keys  scripts.Keys
	field string // the one that counts
}

var (
	hilo       = kind{scripts.Keys{Counter: "{Raven}/HiLo/orders", Server: "{Raven}/ServerPrefixForHilo", Other: "{Raven}/Identities/orders"}, scripts.FieldMax}
	identities = kind{scripts.Keys{Counter: hilo.keys.Other, Server: hilo.keys.Server, Other: hilo.keys.Counter}, scripts.FieldValue}
)
