package scripts

import (
	"context"
	_ "embed"

	"github.com/redis/go-redis/v9"
)

//go:embed return.lua
var returnLua string

var giveBack = load(returnLua)

// pipelineLength bounds one round trip of ReturnAll, so that a large Close
// holds up neither the server nor a buffer.
const pipelineLength = 1000

// ReturnRequest gives back Last+1..End of the range that Token was given.
type ReturnRequest struct {
	Counter string // key
	Token   string
	End     int64
	Last    int64 // last number used, or the one before the range
	Epoch   int64 // under which the range was given
	Ranges  int64 // given then, with it
}

func (r ReturnRequest) keys() []string { return []string{r.Counter} }

func (r ReturnRequest) args() []any {
	return []any{r.Token, r.End, r.Last, r.Epoch, r.Ranges}
}

// Return reports whether the numbers were taken back. They are not when
// anything happened to the counter since the range was given. It may be sent
// twice: the second time does nothing and reports false.
func Return(ctx context.Context, client redis.Scripter, r ReturnRequest) (bool, error) {
	return returned(giveBack.Run(ctx, client, r.keys(), r.args()...))
}

// Returned is the outcome of one ReturnRequest.
type Returned struct {
	OK  bool // taken back
	Err error
}

// ReturnAll returns many ranges in few round trips; the outcomes are in the
// order of the requests. Like Return, it may be sent twice.
func ReturnAll(ctx context.Context, client redis.UniversalClient, requests []ReturnRequest) []Returned {
	results := make([]Returned, len(requests))
	for low := 0; low < len(requests); low += pipelineLength {
		high := min(low+pipelineLength, len(requests))
		if err := returnChunk(ctx, client, requests[low:high], results[low:high]); err != nil {
			for i := range results[low:] {
				results[low+i].Err = err
			}
			break
		}
	}
	return results
}

// returnChunk sends the first request by itself: that teaches the server the
// script where it does not know it, so that the others need not carry it. It
// gives an error when the server did not answer that.
func returnChunk(ctx context.Context, client redis.UniversalClient, requests []ReturnRequest, results []Returned) error {
	results[0].OK, results[0].Err = Return(ctx, client, requests[0])
	if err := results[0].Err; err != nil && !Answered(err) {
		return err
	}
	rest := requests[1:]
	if len(rest) == 0 {
		return nil
	}
	commands := make([]*redis.Cmd, len(rest))
	_, _ = client.Pipelined(ctx, func(p redis.Pipeliner) error { // each command has its own error
		for i, r := range rest {
			commands[i] = giveBack.EvalSha(ctx, p, r.keys(), r.args()...)
		}
		return nil
	})
	for i, command := range commands {
		result := &results[i+1]
		result.OK, result.Err = returned(command)
		if redis.HasErrorPrefix(result.Err, "NOSCRIPT") { // flushed in between
			result.OK, result.Err = Return(ctx, client, rest[i])
		}
	}
	return nil
}

func returned(cmd *redis.Cmd) (bool, error) {
	reply, err := decode(cmd, 2)
	if err != nil {
		return false, err
	}
	return reply[0] == "1", nil
}
