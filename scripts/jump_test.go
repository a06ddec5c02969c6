package scripts

import (
	"crypto/sha1"
	"encoding/hex"
	"math"
	"strconv"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// These are the minimum gaps that the scripts compute.
const (
	rangeGap    = 65536
	identityGap = 1024
)

// jumped returns the number to which a counter without a limit jumps, which is base plus the gap plus an offset. The offset is
// derived from the token and the server's replication id, within 64 gaps or a thousandth of the remaining numbers. It is computed
// independently of the scripts, from the protocol.
func jumped(t *testing.T, client redistest.Client, base, gap int64, token string) int64 {
	t.Helper()
	const limit int64 = math.MaxInt64
	server, err := Describe(t.Context(), client, keys.Server)
	if err != nil {
		t.Fatal(err)
	}
	far := base + gap
	if far < base || far >= limit {
		t.Fatalf("got the end of the gap %d, want it between %d and %d", far, base, limit)
	}
	places := (limit - far) / 1000
	if gap <= places/64 {
		places = 64 * gap
	}
	return far + place(t, token+server.Origin, places)
}

// place returns a number from 0 to places-1 that is derived from a text.
func place(t *testing.T, text string, places int64) int64 {
	t.Helper()
	sum := sha1.Sum([]byte(text))
	digits := hex.EncodeToString(sum[:])
	part := func(from int) float64 {
		n, err := strconv.ParseInt(digits[from:from+12], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		return float64(n) / (1 << 48)
	}
	if places < 1e15 {
		return int64(math.Floor(part(0) * float64(places)))
	}
	return int64(math.Floor(part(0)*float64(places/1e9)))*1e9 + int64(math.Floor(part(12)*1e9))
}
