package scripts

import (
	"context"
	_ "embed"

	"github.com/redis/go-redis/v9"
)

//go:embed return.lua
var returnLua string

var returning = load(returnLua)

// ReturnRequest returns Last+1..End of the range that was issued to Token.
type ReturnRequest struct {
	Counter string // key
	Token   string
	End     int64
	Last    int64 // last number used, or the number before the range
	Epoch   int64 // of the range
	Written int64 // of the range
}

func (r ReturnRequest) call() call {
	return call{[]string{r.Counter}, []any{r.Token, r.End, r.Last, r.Epoch, r.Written}}
}

// Return reports whether the numbers were taken back. They are not if anything was
// written to the counter since the range was issued. The request may be sent twice. The
// second time does nothing, and reports false.
func Return(ctx context.Context, client redis.Scripter, r ReturnRequest) (bool, error) {
	c := r.call()
	return returned(returning.Run(ctx, client, c.keys, c.args...))
}

// Returned is the outcome of one ReturnRequest.
type Returned struct {
	OK  bool // taken back
	Err error
}

// ReturnAll returns many ranges in few round trips, with the outcomes in the order of
// the requests. Like Return, it may be sent twice.
func ReturnAll(ctx context.Context, client redis.Cmdable, requests []ReturnRequest) []Returned {
	calls := make([]call, len(requests))
	for i, r := range requests {
		calls[i] = r.call()
	}
	results := make([]Returned, len(requests))
	errs := runAll(ctx, client, returning, calls, func(i int, reply *redis.Cmd) (err error) {
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
