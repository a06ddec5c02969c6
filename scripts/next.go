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

var next = loadGiving(FieldMax, "Low", smallestGap, nextLua)

// smallestGap is how far a counter jumps at least, so that it passes what a burst
// took that no tally tells of: 200 ms of a bulk load are 400,000 numbers.
const smallestGap = 65536

// Keys are the keys that a script on one counter names. On a cluster all three are
// in one slot.
type Keys struct {
	Counter string // the counter's own
	Server  string // the server's prefix and node tag, and whether it is the home of identities
	Other   string // the key of the same name and the other kind; Server again where there is none
}

// NextRequest asks for a range.
type NextRequest struct {
	Token         string // unique to this request, and kept when it is sent again
	Name          string // the collection as the caller spells it
	Capacity      int64  // numbers asked for, 1 or more
	Limit         int64  // greatest number ever to be issued
	Floor         int64  // greatest number given to this client and not returned, 0: none
	Epoch         int64  // greatest epoch of the counter that this client saw, 0: none
	GuardGap      int64  // gap of a jump on evidence of lost writes, 0: computed by the script
	LeastGap      int64  // the gap that the client knows to be needed, used where the script computes it
	RequireSeeded bool   // a missing counter is ErrNotSeeded
	RequirePrefix bool   // a server with neither prefix nor tag is ErrPrefixMissing
}

// Evidence is why a script took writes for lost; empty where it did not.
type Evidence string

// The kinds of evidence.
const (
	EvidenceFloor   Evidence = "floor"   // Max is below what this client was given
	EvidenceEpoch   Evidence = "epoch"   // Epoch is below the one that this client saw
	EvidenceOrigin  Evidence = "origin"  // the server was restarted or promoted
	EvidenceMissing Evidence = "missing" // the counter is gone
)

// Range is what next and identity give: the numbers Low to High, both included,
// and what the server adds to them, read in the same atomic step.
type Range struct {
	Low, High int64
	Epoch     int64
	Prefix    string
	Tag       string
	Jump      int64    // how far Max was moved before the range was taken
	Evidence  Evidence // why
	Issued    int64    // numbers issued lately, by all clients
	Seconds   int64    // how many seconds Issued covers, 1 or more
	Origin    string   // replication id of the server, "": unknown
	Ranges    int64    // given so far, with this one
	Written   int64    // when they were taken: no other write of the counter has the same
	Before    int64    // when the counter was last written before, 0: never, or unknown
	Lowered   int64    // times that an identity was lowered by force
}

// Next takes a range. The same request may be sent twice: with the same token
// it gets the same range, as long as nobody was given another one since. With
// ErrNotDurable the range is given too, as one that must not be used.
//
// Errors: ErrCorrupt, ErrExhausted, ErrNotSeeded, ErrPrefixMissing, ErrMixed,
// ErrUnguarded, ErrNotDurable, ErrReply, and those of the client.
func Next(ctx context.Context, client redis.Scripter, keys Keys, r NextRequest) (Range, error) {
	c := r.call(keys)
	return r.taken(c.run(ctx, client, next))
}

// NextAll takes a range for each of many requests in few round trips; keys and
// outcomes are in the order of the requests. Each is as Next's: a request may be
// sent again. When the server does not answer, that is the error of all the rest.
func NextAll(ctx context.Context, client redis.UniversalClient, keys []Keys, requests []NextRequest) ([]Range, []error) {
	calls := make([]call, len(requests))
	for i, r := range requests {
		calls[i] = r.call(keys[i])
	}
	all := make([]Range, len(requests))
	errs := runAll(ctx, client, next, calls, func(i int, reply *redis.Cmd) (err error) {
		all[i], err = requests[i].taken(reply)
		return err
	})
	return all, errs
}

func (r NextRequest) call(keys Keys) call {
	return call{
		[]string{keys.Counter, keys.Server, keys.Other},
		[]any{r.Token, r.Capacity, r.Limit, r.Floor, r.Epoch, r.GuardGap, r.LeastGap, r.Name, flag(r.RequireSeeded), flag(r.RequirePrefix)},
	}
}

// taken reads the reply to r.
func (r NextRequest) taken(cmd *redis.Cmd) (Range, error) {
	got, before, err := taken(cmd, r.Token)
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

// taken reads the reply of a script that gives numbers; last is what only this
// kind of counter tells. With ErrNotDurable it gives them too: they were taken,
// and are not to be used. A reply with another token is another request's.
func taken(cmd *redis.Cmd, token string) (got Range, last int64, err error) {
	reply, unconfirmed := decode(cmd, 14)
	if unconfirmed != nil && !errors.Is(unconfirmed, ErrNotDurable) {
		return Range{}, 0, unconfirmed
	}
	if reply[0] != token {
		return Range{}, 0, fmt.Errorf("%w: it answers the request %q and not %q", ErrReply, reply[0], token)
	}
	got = Range{Prefix: reply[4], Tag: reply[5], Evidence: Evidence(reply[7]), Origin: reply[10]}
	texts := []string{reply[1], reply[2], reply[3], reply[6], reply[8], reply[9], reply[11], reply[12], reply[13]}
	if err := numbers(texts, &got.Low, &got.High, &got.Epoch, &got.Jump, &got.Issued, &got.Seconds, &got.Ranges, &got.Written, &last); err != nil {
		return Range{}, 0, err
	}
	return got, last, unconfirmed
}
