package scripts

import (
	"context"
	_ "embed"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed ceiling.lua
	ceilingLua string
	//go:embed permit.lua
	permitLua string

	raiseRange    = loadTaking("raise", false)
	raiseIdentity = loadTaking("raise", true)
	permit        = loadWithSettings(false, ceilingLua+permitLua)
)

// Raised is the reply of Raise.
type Raised struct {
	Raised    int64    // greatest number that may be issued once it is permitted
	Permitted bool     // it may be issued now, which a server with appendfsync always knows at once
	Origin    string   // replication id of the server, for Permit
	Epoch     int64    // 0 with an Obstacle
	Jump      int64    // as of Range
	Evidence  Evidence // as of Range
	Base      int64    // where the counter stands
	// Left is how many numbers may still be issued without a raise, and Lasts how long they last at the rate since the raise
	// before, 0 if unknown.
	Left  int64
	Lasts time.Duration
	// Obstacle is what keeps the ceiling from being raised, "" for none. With one nothing was written.
	Obstacle string
	Created  bool // there was no such counter
}

// RaiseNext raises what is reserved of a counter for a request that Next refused with ErrCeiling, or for later requests. It issues
// nothing. A request may be sent twice: each one writes.
//
// Errors: those of Next but ErrCeiling, and ErrChanged if the server is not durable, or not any more: Next issues numbers then.
func RaiseNext(ctx context.Context, client redis.Scripter, keys Keys, r NextRequest) (Raised, error) {
	return raised(r.call(keys).run(ctx, client, raiseRange))
}

// RaiseIdentity is RaiseNext for a request of Identity.
func RaiseIdentity(ctx context.Context, client redis.Scripter, keys Keys, r IdentityRequest) (Raised, error) {
	return raised(r.call(keys).run(ctx, client, raiseIdentity))
}

func raised(cmd *redis.Cmd) (got Raised, err error) {
	reply, err := decode(cmd, 12)
	if err != nil {
		return got, err
	}
	got = Raised{Permitted: reply[2] == "1", Origin: reply[3], Evidence: Evidence(reply[6]), Obstacle: reply[10], Created: reply[11] == "1"}
	var seconds int64
	texts := []string{reply[1], reply[4], reply[5], reply[7], reply[8], reply[9]}
	err = numbers(texts, &got.Raised, &got.Epoch, &got.Jump, &got.Base, &got.Left, &seconds)
	got.Lasts = time.Duration(min(seconds, int64(time.Duration(1<<63-1)/time.Second))) * time.Second
	return got, err
}

// PermitRequest asks whether the disk of a server has what was written before, and makes Raised the ceiling of a counter then.
type PermitRequest struct {
	Keys   Keys
	Origin string // of Raised, "" for any
	Raised int64  // unused to ask only, where the counter is the key of the settings
}

// Permitted is the outcome of one PermitRequest.
type Permitted struct {
	Clock time.Duration // of the server, since 1970
	Err   error
}

// Permit permits what was raised. Which requests have to come before it, and when, is in permit.lua. A request may be sent twice.
// The outcomes are in the order of the requests.
//
// Errors: ErrPending, ErrNotDurable, ErrChanged, ErrCorrupt, ErrReply, and those of the client.
func Permit(ctx context.Context, client redis.Cmdable, requests ...PermitRequest) []Permitted {
	return runAll(ctx, client, permit, requests, permitted)
}

func (r PermitRequest) call() call {
	return call{[]string{r.Keys.Counter, r.Keys.Server, r.Keys.Server}, []any{r.Origin, r.Raised}}
}

func permitted(cmd *redis.Cmd) (got Permitted) {
	reply, err := decode(cmd, 2)
	if err != nil {
		return Permitted{Err: err}
	}
	var milliseconds int64
	got.Err = numbers(reply[1:], &milliseconds)
	got.Clock = time.Duration(milliseconds) * time.Millisecond
	return got
}
