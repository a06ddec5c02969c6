package scripts

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/redis/go-redis/v9"
)

//go:embed seed.lua
var seedLua string

var seed = loadWithSettings(false, raisingLua+seedLua)

// FieldMax is the field that holds the number of a collection's counter.
const FieldMax = "Max"

// SeedRequest raises a counter to Value, or sets it, also down, with Force.
type SeedRequest struct {
	Field    string // that holds the number, FieldMax or FieldValue
	Name     string // as the caller spells it
	Value    int64
	Force    bool
	Expected Standing // the state without which a forced seed does nothing; unused with a Token
	Token    string   // of a forced seed that takes effect once, whichever process sends it; "" for none
}

// Standing is the state that a forced seed expects, with the fields as they were read and "" for an absent one. Every later write
// of a script changes one of them, even if Value is the same again.
type Standing struct{ Value, Written string }

// Stands reads the state that a forced seed expects.
func Stands(ctx context.Context, client redis.Cmdable, counter, field string) (Standing, error) {
	read, err := client.HMGet(ctx, counter, field, "Written").Result()
	if redis.HasErrorPrefix(err, "WRONGTYPE") {
		return Standing{}, fmt.Errorf("%w: key %s is not a hash", ErrCorrupt, counter)
	}
	if err != nil {
		return Standing{}, err
	}
	var s Standing
	for i, into := range []*string{&s.Value, &s.Written} {
		*into, _ = read[i].(string)
	}
	return s, nil
}

// Seed seeds a counter and returns the value that stands now. The request may be sent twice. The second time changes nothing.
// ErrChanged means that a forced seed found another state than it expected. It may have taken effect before, if its reply was
// lost and numbers were issued since; with a Token it has.
func Seed(ctx context.Context, client redis.Scripter, keys Keys, r SeedRequest) (int64, error) {
	reply, err := decode(seed.Run(ctx, client, []string{keys.Counter, keys.Server, keys.Other},
		r.Field, r.Value, r.Name, bit(r.Force), r.Expected.Value, r.Expected.Written, r.Token), 3)
	if err != nil {
		return 0, err
	}
	if reply[2] != "1" {
		return 0, fmt.Errorf("%w: key %s stands at %q since then: numbers were issued, or it was seeded", ErrChanged, keys.Counter, reply[0])
	}
	var stands int64
	err = numbers(reply[:1], &stands)
	return stands, err
}
