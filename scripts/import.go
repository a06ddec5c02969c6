package scripts

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/redis/go-redis/v9"
)

//go:embed import.lua
var importLua string

var importing = load(serverLua, fmt.Sprintf("local smallest_gap = '%d'", smallestGap), importLua)

// ImportRequest raises one counter, of any kind, to what is known of it.
type ImportRequest struct {
	Keys   Keys   // Other is Server again where there is no other kind of the name, or the server is about to get a prefix
	Field  string // that counts
	Name   string // as the caller spells it
	Value  int64
	Epoch  int64
	Ranges int64
	Bare   int64 // greatest number given without prefix and tag, 0: none
}

// Imported is the outcome of one ImportRequest.
type Imported struct {
	Stands  int64 // now
	Stood   int64 // before
	Existed bool  // before
	Err     error
}

// ImportAll raises many counters in few round trips; the outcomes are in the
// order of the requests. It never lowers one, and may be sent twice: the second
// time changes nothing.
func ImportAll(ctx context.Context, client redis.UniversalClient, requests []ImportRequest) []Imported {
	calls := make([]call, len(requests))
	for i, r := range requests {
		calls[i] = call{
			[]string{r.Keys.Counter, r.Keys.Server, r.Keys.Other},
			[]any{r.Field, r.Value, r.Name, r.Epoch, r.Ranges, r.Bare},
		}
	}
	results := make([]Imported, len(requests))
	errs := runAll(ctx, client, importing, calls, func(i int, cmd *redis.Cmd) error {
		reply, err := decode(cmd, 2)
		if err != nil {
			return err
		}
		if reply[1] == "" {
			return numbers(reply[:1], &results[i].Stands)
		}
		results[i].Existed = true
		return numbers(reply, &results[i].Stands, &results[i].Stood)
	})
	for i, err := range errs {
		results[i].Err = err
	}
	return results
}
