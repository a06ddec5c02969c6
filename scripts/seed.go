package scripts

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/redis/go-redis/v9"
)

//go:embed seed.lua
var seedLua string

var seed = load(serverLua, seedLua)

// FieldMax is the field that counts in a collection's counter.
const FieldMax = "Max"

// SeedRequest raises a counter to Value, or sets it, also down, with Force.
type SeedRequest struct {
	Field    string // that counts
	Name     string // as the caller spells it
	Value    int64
	Force    bool
	Expected Standing // with Force: only where this still stands
}

// Standing is what a forced seed expects to stand: the fields as they were read,
// "" for an absent one. Whatever a script did since shows in one of them, even if Value
// came to be the same again.
type Standing struct{ Value, Written string }

// Stands reads what a forced seed is to expect.
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

// Seed replies the value that stands now. It may be sent twice: the second time
// changes nothing. ErrChanged is a forced one that found something else than it
// expected, which may be because it acted and its reply was lost, and somebody
// was given numbers since.
func Seed(ctx context.Context, client redis.Scripter, keys Keys, r SeedRequest) (int64, error) {
	reply, err := run(ctx, client, seed, 3, []string{keys.Counter, keys.Server, keys.Other},
		r.Field, r.Value, r.Name, flag(r.Force), r.Expected.Value, r.Expected.Written)
	if err != nil {
		return 0, err
	}
	if reply[2] != "1" {
		return 0, fmt.Errorf("%w: key %s stands at %q, and %q was expected", ErrChanged, keys.Counter, reply[0], r.Expected.Value)
	}
	var stands int64
	err = numbers(reply[:1], &stands)
	return stands, err
}
