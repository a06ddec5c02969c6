package scripts

import (
	"context"
	_ "embed"

	"github.com/redis/go-redis/v9"
)

//go:embed seed.lua
var seedLua string

var seed = load(serverLua, seedLua)

// FieldMax is the field that counts in a collection's counter.
const FieldMax = "Max"

// SeedRequest raises a counter to Value, or sets it, also down, with Force.
type SeedRequest struct {
	Field string // that counts
	Name  string // as the caller spells it
	Value int64
	Force bool
}

// Seed replies the value that stands now. It may be sent twice; a forced one
// also undoes what happened in between.
func Seed(ctx context.Context, client redis.Scripter, keys Keys, r SeedRequest) (int64, error) {
	reply, err := run(ctx, client, seed, 2, []string{keys.Counter, keys.Server, keys.Other},
		r.Field, r.Value, flag(r.Force), r.Name)
	if err != nil {
		return 0, err
	}
	var stands int64
	err = numbers(reply[:1], &stands)
	return stands, err
}
