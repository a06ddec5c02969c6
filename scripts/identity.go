package scripts

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

var identity = loadTaking(true)

// FieldValue is the field that holds the number of an identity.
const FieldValue = "Value"

// IdentityRequest is a request for values of an identity or of the server-side counter.
type IdentityRequest struct {
	Token         string // unique to this request
	Name          string // as the caller spells it
	Count         int64  // consecutive values requested, 1 or more; unused if Raise is set
	Raise         int64  // the one value to take, if every issued value is below it; 0 for the next ones
	Limit         int64  // greatest value that may ever be issued
	Floor         int64  // greatest value issued to this client, 0 for none
	Epoch         int64  // greatest epoch of the identity that this client has seen, 0 for none
	Lowered       int64  // number of forced seeds that had lowered the identity when Floor was issued
	LeastGap      int64  // lower bound of the gap of a jump
	BareFloor     int64  // greatest number of the collection of this name that this server issued to this client without prefix and tag, 0 for none
	RequireSeeded bool   // a missing identity is ErrNotSeeded
	RequirePrefix bool   // a server with neither prefix nor tag nor interval is ErrPrefixMissing
	Awaited       int    // number of replicas that client waits for
	Anywhere      bool   // a server that is not the home of identities issues them too
}

// Identity takes values. If Raise is refused, because that value or a greater one was issued before, or because writes may have
// been lost, Low is 0 and the error nil. A request that is sent twice takes other values the second time, or none with Raise, and
// the first values are a gap. With ErrNotDurable the values are returned too, and must not be used.
//
// Errors: as Next's, and ErrElsewhere.
func Identity(ctx context.Context, client redis.Scripter, keys Keys, r IdentityRequest) (Range, error) {
	count := r.Count
	if r.Raise > 0 {
		count = 1
	}
	got, lowered, err := taken(identity.Run(ctx, client, []string{keys.Counter, keys.Server, keys.Other},
		r.Token, count, r.Limit, r.Floor, r.Epoch, r.LeastGap, r.Name, bit(r.RequireSeeded), bit(r.RequirePrefix),
		r.BareFloor, bit(false), r.Awaited, 0, r.Lowered, r.Raise, bit(r.Anywhere)), r.Token)
	got.Ranges, got.Lowered = 0, lowered // not counted; a field that stands there all the same was made by hand
	if err != nil {
		return got, err
	}
	switch {
	case r.Raise > 0 && (got.Low == 0 || got.Low == r.Raise && got.High == r.Raise):
	case r.Raise == 0 && got.Low > 0 && got.High-got.Low == r.Count-1 && got.High <= r.Limit && got.has(got.Low) && got.has(got.High):
	default:
		return Range{}, fmt.Errorf("%w: values %d..%d for %+v", ErrReply, got.Low, got.High, r)
	}
	return got, nil
}
