package interleavings

import (
	"testing"

	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// kind is a kind of counter.
type kind int8

const (
	collection kind = iota
	identity
)

const settingsKey = "{Raven}/ServerPrefixForHilo"

// keys are those of the one name that all counters here have, which is both a collection and an identity.
var keys = [2]scripts.Keys{
	{Counter: "{Raven}/HiLo/orders", Server: settingsKey, Other: "{Raven}/Identities/orders"},
	{Counter: "{Raven}/Identities/orders", Server: settingsKey, Other: "{Raven}/HiLo/orders"},
}

// field returns the field that counts.
func (k kind) field() string { return [...]string{scripts.FieldMax, scripts.FieldValue}[k] }
