package scripts

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/redis/go-redis/v9"
)

//go:embed identity.lua
var identityLua string

var identity = loadGiving(FieldValue, "Lowered", smallestIdentityGap, homeLua, identityLua)

// FieldValue is the field that counts in an identity.
const FieldValue = "Value"

// smallestIdentityGap is smallestGap of identities, which are taken one by one.
const smallestIdentityGap = 1024

// IdentityRequest asks for values of an identity or of the server-side counter.
type IdentityRequest struct {
	Token         string // unique to this request
	Name          string // as the caller spells it
	Count         int64  // consecutive values asked for, 1 or more; unused where Raise is set
	Raise         int64  // take this very value, if none as great was given before; 0: the next ones
	Limit         int64  // greatest value ever to be issued
	Floor         int64  // greatest value given to this client, 0: none
	Epoch         int64  // greatest epoch of the identity that this client saw, 0: none
	Lowered       int64  // how often the identity had been lowered by force when Floor was given
	GuardGap      int64  // least jump on evidence of lost writes, 0: computed by the script
	LeastGap      int64  // least jump that the client knows to be needed
	RequireSeeded bool   // a missing identity is ErrNotSeeded
	RequirePrefix bool   // a server with neither prefix nor tag is ErrPrefixMissing
	Anywhere      bool   // a server that is not the home of identities gives them too, and is not ErrElsewhere
}

// Identity takes values. Where Raise is refused, because that value or a greater
// one was given before, Low is 0 and the error nil. A request that is sent twice
// takes other values the second time, and a Raise none: what the first one took is
// a gap. With ErrNotDurable the values are given too, and must not be used.
//
// Errors: as Next's, and ErrElsewhere.
func Identity(ctx context.Context, client redis.Scripter, keys Keys, r IdentityRequest) (Range, error) {
	count := r.Count
	if r.Raise > 0 {
		count = 1
	}
	got, lowered, err := taken(identity.Run(ctx, client, []string{keys.Counter, keys.Server, keys.Other},
		r.Token, count, r.Limit, r.Floor, r.Epoch, r.GuardGap, r.LeastGap, r.Name, flag(r.RequireSeeded), flag(r.RequirePrefix),
		r.Lowered, r.Raise, flag(r.Anywhere)), r.Token)
	got.Lowered = lowered
	if err != nil {
		return got, err
	}
	switch {
	case r.Raise > 0 && (got.Low == 0 || got.Low == r.Raise && got.High == r.Raise):
	case r.Raise == 0 && got.Low > 0 && got.High-got.Low == r.Count-1 && got.High <= r.Limit:
	default:
		return Range{}, fmt.Errorf("%w: values %d..%d for %+v", ErrReply, got.Low, got.High, r)
	}
	return got, nil
}
