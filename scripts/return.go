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

// Return reports whether the numbers were taken back. They are not if anything was written to the counter since the range was
// issued. The request may be sent twice. The second time does nothing, and reports false.
func Return(ctx context.Context, client redis.Scripter, r ReturnRequest) (bool, error) {
	got := returned(r.call().run(ctx, client, returning))
	return got.OK, got.Err
}

// Returned is the outcome of one ReturnRequest.
type Returned struct {
	OK  bool // taken back
	Err error
}

// ReturnAll returns many ranges in few round trips, with the outcomes in the order of
// the requests. Like Return, it may be sent twice.
func ReturnAll(ctx context.Context, client redis.Cmdable, requests []ReturnRequest) []Returned {
	return runAll(ctx, client, returning, requests, returned)
}

func returned(cmd *redis.Cmd) Returned {
	reply, err := decode(cmd, 2)
	return Returned{OK: err == nil && reply[0] == "1", Err: err}
}
