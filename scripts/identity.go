package scripts

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/redis/go-redis/v9"
)

//go:embed identity.lua
var identityLua string

var identity = loadGiving(FieldValue, "Lowered", identityLua)

// FieldValue is the field that counts in an identity.
const FieldValue = "Value"

// IdentityRequest asks for values of an identity or of the server-side counter.
type IdentityRequest struct {
	Name          string // as the caller spells it
	Count         int64  // consecutive values asked for, 1 or more; unused where Raise is set
	Raise         int64  // take this very value, if none as great was given before; 0: the next ones
	Limit         int64  // greatest value ever to be issued
	Floor         int64  // greatest value given to this client, 0: none
	Lowered       int64  // how often the identity had been lowered by force when Floor was given
	GuardGap      int64  // jump on evidence of lost writes, 0: computed by the script
	LeastGap      int64  // least jump that the client knows to be needed
	RequireSeeded bool   // a missing identity is ErrNotSeeded
}

// Identity takes values. Where Raise is refused the Range is without Low. A
// request that is sent twice takes other values the second time, and a Raise
// none: what the first one took is a gap.
func Identity(ctx context.Context, client redis.Scripter, keys Keys, r IdentityRequest) (Range, error) {
	verb, wanted := "next", r.Count
	if r.Raise > 0 {
		verb, wanted = "raise", r.Raise
	}
	got, lowered, err := take(ctx, client, identity, keys,
		verb, wanted, r.Limit, r.Floor, r.GuardGap, r.LeastGap, flag(r.RequireSeeded), r.Name, r.Lowered)
	if err != nil {
		return got, err
	}
	if err := numbers([]string{lowered}, &got.Lowered); err != nil {
		return Range{}, err
	}
	switch {
	case r.Raise > 0 && (got.Low == 0 || got.Low == r.Raise && got.High == r.Raise):
	case r.Raise == 0 && got.Low > 0 && got.High-got.Low == r.Count-1 && got.High <= r.Limit:
	default:
		return Range{}, fmt.Errorf("%w: values %d..%d for %+v", ErrReply, got.Low, got.High, r)
	}
	return got, nil
}
