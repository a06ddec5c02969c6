package scripts

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

//go:embed next.lua
var nextLua string

var next = loadGiving(FieldMax, "Low", nextLua)

// Keys are the keys that a script on one counter names.
type Keys struct {
	Counter string // the counter's own
	Server  string // the server's prefix and node tag
	Other   string // of the same name and the other kind
}

// NextRequest asks for a range.
type NextRequest struct {
	Token         string // unique to this request, and kept when it is sent again
	Name          string // the collection as the caller spells it
	Capacity      int64  // numbers asked for, 1 or more
	Limit         int64  // greatest number ever to be issued
	Floor         int64  // greatest number given to this client and not returned, 0: none
	GuardGap      int64  // jump on evidence of lost writes, 0: computed by the script
	LeastGap      int64  // least jump that the client knows to be needed
	RequireSeeded bool   // a missing counter is ErrNotSeeded
}

// Evidence is why a script took writes for lost; empty where it did not.
type Evidence string

// The kinds of evidence.
const (
	EvidenceFloor   Evidence = "floor"   // Max is below what this client was given
	EvidenceOrigin  Evidence = "origin"  // the server was restarted or promoted
	EvidenceMissing Evidence = "missing" // the counter is gone
)

// Range is what next gives: Low..High inclusive and the server's additions,
// read in the same atomic step.
type Range struct {
	Low, High int64
	Epoch     int64
	Prefix    string
	Tag       string
	Jump      int64    // how far Max was moved before the range was taken
	Evidence  Evidence // why
	Issued    int64    // numbers issued lately, by all clients
	Seconds   int64    // how long "lately" is
	Origin    string   // replication id of the server, "": unknown
	Ranges    int64    // given so far, with this one
	Before    string   // token of the range that was the newest until then, "": none any more
	Lowered   int64    // times that an identity was lowered by force
}

// Next takes a range. The same request may be sent twice: with the same token
// it gets the same range, as long as nobody was given another one since. With
// ErrNotDurable the range is given too, as one that must not be used.
func Next(ctx context.Context, client redis.Scripter, keys Keys, r NextRequest) (Range, error) {
	got, before, err := take(ctx, client, next, keys,
		r.Token, r.Capacity, r.Limit, r.Floor, r.GuardGap, r.LeastGap, flag(r.RequireSeeded), r.Name)
	got.Before = before
	if err != nil {
		return got, err
	}
	if got.Low <= r.Floor || got.High < got.Low || got.High-got.Low >= r.Capacity || got.High > r.Limit {
		return Range{}, fmt.Errorf("%w: range %d..%d for capacity %d, floor %d, limit %d",
			ErrReply, got.Low, got.High, r.Capacity, r.Floor, r.Limit)
	}
	return got, nil
}

// take runs a script that gives numbers; last is what only this kind of counter
// tells. With ErrNotDurable it gives them too: they were taken, and are not to
// be used.
func take(ctx context.Context, client redis.Scripter, script *redis.Script, keys Keys, args ...any) (got Range, last string, err error) {
	reply, unconfirmed := run(ctx, client, script, 12, []string{keys.Counter, keys.Server, keys.Other}, args...)
	if unconfirmed != nil && !errors.Is(unconfirmed, ErrNotDurable) {
		return Range{}, "", unconfirmed
	}
	got = Range{Prefix: reply[3], Tag: reply[4], Evidence: Evidence(reply[6]), Origin: reply[9]}
	if err := numbers(reply[:3], &got.Low, &got.High, &got.Epoch); err != nil {
		return Range{}, "", err
	}
	if err := numbers([]string{reply[5], reply[7], reply[8], reply[10]}, &got.Jump, &got.Issued, &got.Seconds, &got.Ranges); err != nil {
		return Range{}, "", err
	}
	return got, reply[11], unconfirmed
}
