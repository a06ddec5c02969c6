package scripts

import (
	"context"
	_ "embed"

	"github.com/redis/go-redis/v9"
)

//go:embed import.lua
var importLua string

var importing = loadGuarded(false, gapLua+importLua)

// ImportRequest raises one counter, of any kind, to its state on another server.
type ImportRequest struct {
	Keys   Keys   // Other is Server again if there is no other kind of the name, or the server is about to get a prefix
	Field  string // that holds the number, FieldMax or FieldValue
	Name   string // as the caller spells it
	Value  int64
	Epoch  int64
	Ranges int64
	Bare   int64 // greatest number issued without prefix and tag, 0 for none
	Top    int64 // greatest number that a gateway issued, 0 for none
	Lost   bool  // the source may have lost writes since it wrote the counter, so that Value, Bare and Epoch are raised as by a jump
	Issued int64 // the source's tallies, Issued and IssuedBefore together
	// Lowered, Written and Forced are the source's fields, 0 and "" for none.
	Lowered, Written int64
	Forced           string
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
		[]any{r.Field, r.Value, r.Name, r.Epoch, r.Ranges, r.Bare, r.Top, bit(r.Lost), r.Issued, r.Lowered, r.Written, r.Forced},
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
