package scripts

import (
	"context"
	_ "embed"

	"github.com/redis/go-redis/v9"
)

//go:embed import.lua
var importLua string

var importing = loadWithSettings(false, raisingLua+importLua)

// ImportRequest raises one counter, of any kind, to its state on another server.
type ImportRequest struct {
	Keys   Keys
	Field  string // that holds the number, FieldMax or FieldValue
	Name   string // as the caller spells it
	Value  int64
	Epoch  int64
	Ranges int64
	// Raised, Block, RaisedAt, Lowered and Written are the source's fields, 0 for none.
	Raised, Block, RaisedAt, Lowered, Written int64
	Bare                                      bool // the source issued numbers without prefix and tag
}

// Imported is the outcome of one ImportRequest.
type Imported struct {
	Stands  int64 // value now
	Stood   int64 // value before
	Existed bool  // there was a value before
	Err     error
}

// ImportAll raises many counters in few round trips, and returns the outcomes in the order of the requests. It never lowers a
// counter. The requests may be sent twice. The second time changes nothing.
func ImportAll(ctx context.Context, client redis.Cmdable, requests []ImportRequest) []Imported {
	return runAll(ctx, client, importing, requests, imported)
}

// Import is ImportAll for one request, with a client that may confirm its write.
func Import(ctx context.Context, client redis.Scripter, r ImportRequest) Imported {
	return imported(r.call().run(ctx, client, importing))
}

func (r ImportRequest) call() call {
	return call{
		[]string{r.Keys.Counter, r.Keys.Server, r.Keys.Other},
		[]any{r.Field, r.Value, r.Name, r.Epoch, r.Ranges, r.Raised, r.Block, r.RaisedAt, bit(r.Bare), r.Lowered, r.Written},
	}
}

// imported reads the reply.
func imported(cmd *redis.Cmd) (result Imported) {
	reply, err := decode(cmd, 2)
	if err == nil && reply[1] != "" {
		result.Existed = true
		err = numbers(reply[1:], &result.Stood)
	}
	if err == nil {
		err = numbers(reply[:1], &result.Stands)
	}
	result.Err = err
	return result
}
