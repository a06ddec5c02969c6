package scripts

import (
	"context"
	_ "embed"

	"github.com/redis/go-redis/v9"
)

//go:embed return.lua
var returnLua string

var giveBack = load(returnLua)

// ReturnRequest gives back Last+1..End of the range that Token was given.
type ReturnRequest struct {
	Counter string // key
	Token   string
	End     int64
	Last    int64 // last number used, or the one before the range
	Epoch   int64 // under which the range was given
	Written int64 // when it was taken
}

func (r ReturnRequest) call() call {
	return call{[]string{r.Counter}, []any{r.Token, r.End, r.Last, r.Epoch, r.Written}}
}

// Return reports whether the numbers were taken back. They are not when
// anything happened to the counter since the range was given. It may be sent
// twice: the second time does nothing and reports false.
func Return(ctx context.Context, client redis.Scripter, r ReturnRequest) (bool, error) {
	return returned(r.call().run(ctx, client, giveBack))
}

// Returned is the outcome of one ReturnRequest.
type Returned struct {
	OK  bool // taken back
	Err error
}

// ReturnAll returns many ranges in few round trips; the outcomes are in the
// order of the requests. Like Return, it may be sent twice.
func ReturnAll(ctx context.Context, client redis.UniversalClient, requests []ReturnRequest) []Returned {
	calls := make([]call, len(requests))
	for i, r := range requests {
		calls[i] = r.call()
	}
	results := make([]Returned, len(requests))
	errs := runAll(ctx, client, giveBack, calls, func(i int, reply *redis.Cmd) (err error) {
		results[i].OK, err = returned(reply)
		return err
	})
	for i, err := range errs {
		results[i].Err = err
	}
	return results
}

func returned(cmd *redis.Cmd) (bool, error) {
	reply, err := decode(cmd, 2)
	if err != nil {
		return false, err
	}
	return reply[0] == "1", nil
}
