package scripts

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

var identity = loadTaking("take", true)

// FieldValue is the field that holds the number of an identity.
const FieldValue = "Value"

// IdentityRequest is a request for values of an identity or of the server-side counter.
type IdentityRequest struct {
	Token    string // unique to this request
	Name     string // as the caller spells it
	Count    int64  // consecutive values requested, 1 or more; unused if Exact is set
	Exact    int64  // the one value to take, if every issued value is below it; 0 for the next ones
	Limit    int64  // greatest value that may ever be issued
	Anywhere bool   // a server that is not the home of identities issues them too
	Marks
}

// Identity takes values. If Exact is refused, because that value or a greater one was issued before, or because writes may have
// been lost, Low is 0 and the error nil. A request that is sent twice takes other values the second time, or none with Exact, and
// the first values are a gap.
//
// Errors: as Next's, and ErrElsewhere.
func Identity(ctx context.Context, client redis.Scripter, keys Keys, r IdentityRequest) (Range, error) {
	got, lowered, err := taken(r.call(keys).run(ctx, client, identity), r.Token)
	got.Lowered = lowered
	if err != nil {
		return got, err
	}
	switch {
	case r.Exact > 0 && (got.Low == 0 || got.Low == r.Exact && got.High == r.Exact):
	case r.Exact == 0 && got.Low > 0 && got.High-got.Low == r.Count-1 && got.High <= r.Limit && got.has(got.Low) && got.has(got.High):
	default:
		return Range{}, fmt.Errorf("%w: values %d..%d for %+v", ErrReply, got.Low, got.High, r)
	}
	return got, nil
}

func (r IdentityRequest) call(keys Keys) call {
	count := r.Count
	if r.Exact > 0 {
		count = 1
	}
	return call{
		[]string{keys.Counter, keys.Server, keys.Other},
		append(r.args(r.Token, count, r.Limit, r.Name), r.Lowered, r.Exact, bit(r.Anywhere)),
	}
}
