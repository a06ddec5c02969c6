package scripts

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

var keys = Keys{
	Counter: "{Raven}/HiLo/orders",
	Server:  "{Raven}/ServerPrefixForHilo",
	Other:   "{Raven}/Identities/orders",
}

// request returns a valid request for tests to vary.
func request(token string) NextRequest {
	return NextRequest{Token: token, Name: "orders", Capacity: 32, Limit: 1<<63 - 1}
}

func mustNext(t *testing.T, client redistest.Client, r NextRequest) Range {
	t.Helper()
	got, err := Next(t.Context(), client, keys, r)
	if err != nil {
		t.Fatalf("next: got %v, want <nil>", err)
	}
	return got
}

func wantRange(t *testing.T, got Range, low, high int64) {
	t.Helper()
	if got.Low != low || got.High != high {
		t.Fatalf("range is %d..%d, want %d..%d", got.Low, got.High, low, high)
	}
}

func set(t *testing.T, client redistest.Client, pairs ...any) {
	t.Helper()
	if err := client.HSet(t.Context(), keys.Counter, pairs...).Err(); err != nil {
		t.Fatal(err)
	}
}

// stored returns the fields of the counter.
func stored(t *testing.T, client redistest.Client) map[string]string {
	t.Helper()
	state, err := client.HGetAll(context.WithoutCancel(t.Context()), keys.Counter).Result()
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func wantStored(t *testing.T, client redistest.Client, field, want string) {
	t.Helper()
	if got := stored(t, client)[field]; got != want {
		t.Fatalf("%s is %q, want %q", field, got, want)
	}
}

func wantSame(t *testing.T, before, after map[string]string) {
	t.Helper()
	if fmt.Sprint(before) != fmt.Sprint(after) {
		t.Fatalf("got state %v, want %v as before", after, before)
	}
}

func vectors[T any](t *testing.T, file string) []T {
	t.Helper()
	data, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var rows []T
	if err := json.Unmarshal(data, &rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) == 0 {
		t.Fatalf("%s: got no rows, want some", file)
	}
	return rows
}

// number10 formats a number as a decimal.
func number10(n int64) string { return strconv.FormatInt(n, 10) }

// number parses a decimal of a vector file.
func number(t *testing.T, text string) int64 {
	t.Helper()
	var n int64
	if _, err := fmt.Sscan(text, &n); err != nil {
		t.Fatal(err)
	}
	return n
}
