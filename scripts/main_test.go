package scripts

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

const serverKey = "{Raven}/ServerPrefixForHilo"

var (
	keys           = Keys{Counter: "{Raven}/HiLo/orders", Server: serverKey, Other: "{Raven}/Identities/orders"}
	identityKeys   = Keys{Counter: keys.Other, Server: serverKey, Other: keys.Counter}
	serverSideKeys = Keys{Counter: "{Raven}/ServerSide", Server: serverKey, Other: serverKey}
)

const (
	greatest = "9223372036854775807"
	// anotherOrigin is no server's replication id, and noHistory the master_replid2 of a server that continues no other one.
	anotherOrigin = "0123456789012345678901234567890123456789"
	noHistory     = "0000000000000000000000000000000000000000"
)

// began is a time for servers whose clock is set.
var began = time.Date(2030, 1, 1, 12, 0, 30, 0, time.UTC)

// request returns a valid request for tests to vary.
func request(token string) NextRequest {
	return NextRequest{Token: token, Name: "orders", Capacity: 32, Limit: 1<<63 - 1}
}

func identityRequest(count int64) IdentityRequest {
	return IdentityRequest{Token: "token", Name: "Orders", Count: count, Limit: 1<<63 - 1}
}

// seen returns the request of a client that saw a reply.
func seen(r NextRequest, got Range) NextRequest {
	r.Marks = Marks{Floor: got.High, Epoch: got.Epoch, Ceiling: got.Ceiling, Block: got.Block}
	return r
}

func mustNext(t *testing.T, client redistest.Client, r NextRequest) Range {
	t.Helper()
	got, err := Next(t.Context(), client, keys, r)
	if err != nil {
		t.Fatalf("next: got %v, want <nil>", err)
	}
	return got
}

func mustIdentity(t *testing.T, client redistest.Client, r IdentityRequest) Range {
	t.Helper()
	got, err := Identity(t.Context(), client, identityKeys, r)
	if err != nil {
		t.Fatalf("identity: got %v, want <nil>", err)
	}
	return got
}

func mustDescribe(t *testing.T, client redistest.Client) Description {
	t.Helper()
	d, err := Describe(t.Context(), client, serverKey)
	if err != nil {
		t.Fatalf("describe: got %v, want <nil>", err)
	}
	return d
}

func wantRange(t *testing.T, got Range, low, high int64) {
	t.Helper()
	if got.Low != low || got.High != high {
		t.Fatalf("got range %d..%d, want %d..%d", got.Low, got.High, low, high)
	}
}

// settings replaces the settings of the server. Without any it has none, and is not initialised.
func settings(t *testing.T, client redistest.Client, pairs ...any) {
	t.Helper()
	client.Del(t.Context(), serverKey)
	if len(pairs) == 0 {
		return
	}
	if err := client.HSet(t.Context(), serverKey, pairs...).Err(); err != nil {
		t.Fatal(err)
	}
}

// home makes the server the home of identities, with a prefix.
func home(t *testing.T, client redistest.Client) {
	t.Helper()
	settings(t, client, "ServerPrefix", "NorthServer/", "Identities", "here")
}

func set(t *testing.T, client redistest.Client, pairs ...any) {
	t.Helper()
	if err := client.HSet(t.Context(), keys.Counter, pairs...).Err(); err != nil {
		t.Fatal(err)
	}
}

// replace makes a state that of the counter. Without one there is no counter.
func replace(t *testing.T, client redistest.Client, state map[string]string) {
	t.Helper()
	client.Del(t.Context(), keys.Counter)
	if len(state) > 0 {
		set(t, client, state)
	}
}

// stored returns the fields of the counter.
func stored(t *testing.T, client redistest.Client) map[string]string {
	t.Helper()
	return storedAt(t, client, keys.Counter)
}

func storedAt(t *testing.T, client redistest.Client, key string) map[string]string {
	t.Helper()
	state, err := client.HGetAll(context.WithoutCancel(t.Context()), key).Result()
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func wantStored(t *testing.T, client redistest.Client, field, want string) {
	t.Helper()
	if got := stored(t, client)[field]; got != want {
		t.Fatalf("%s: got %q, want %q", field, got, want)
	}
}

func wantSame(t *testing.T, before, after map[string]string) {
	t.Helper()
	if fmt.Sprint(before) != fmt.Sprint(after) {
		t.Fatalf("got state %v, want %v as before", after, before)
	}
}

// dump returns all keys of a server with their values.
func dump(t *testing.T, client redistest.Client) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for _, key := range client.Keys(t.Context(), "*").Val() {
		if all[key] = fmt.Sprint(client.HGetAll(t.Context(), key).Val()); client.Type(t.Context(), key).Val() == "string" {
			all[key] = client.Get(t.Context(), key).Val()
		}
	}
	return all
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
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
