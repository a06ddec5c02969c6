package scripts

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// pipelineLength bounds one round trip, so that many requests neither block the server
// nor fill a buffer.
const pipelineLength = 1000

// call has the arguments of one run of a script.
type call struct {
	keys []string
	args []any
}

// runAll runs a script once per call, in few round trips, and returns the errors in the
// order of the calls. record reads the reply to a call and returns its error. Once the
// server does not answer, the rest is not sent.
func runAll(ctx context.Context, client redis.Cmdable, script *redis.Script, calls []call, record func(i int, reply *redis.Cmd) error) []error {
	errs := make([]error, len(calls))
	for low := 0; low < len(calls); low += pipelineLength {
		high := min(low+pipelineLength, len(calls))
		recordHere := func(i int, reply *redis.Cmd) error { return record(low+i, reply) }
		if err := runChunk(ctx, client, script, calls[low:high], errs[low:high], recordHere); err != nil {
			for i := range errs[low:] {
				errs[low+i] = err
			}
			break
		}
	}
	return errs
}

// runChunk sends the first call by itself, which loads the script if the server does not
// have it, so that the others are sent without its text. It returns an error if the
// server did not answer the first call.
func runChunk(ctx context.Context, client redis.Cmdable, script *redis.Script, calls []call, errs []error, record func(i int, reply *redis.Cmd) error) error {
	errs[0] = record(0, script.Run(ctx, client, calls[0].keys, calls[0].args...))
	if errs[0] != nil && !Answered(errs[0]) {
		return errs[0]
	}
	rest := calls[1:]
	if len(rest) == 0 {
		return nil
	}
	replies := make([]*redis.Cmd, len(rest))
	_, _ = client.Pipelined(ctx, func(p redis.Pipeliner) error { // each command has its own error
		for i, c := range rest {
			replies[i] = script.EvalSha(ctx, p, c.keys, c.args...)
		}
		return nil
	})
	for i, reply := range replies {
		errs[i+1] = record(i+1, reply)
		if redis.HasErrorPrefix(errs[i+1], "NOSCRIPT") { // flushed in between
			errs[i+1] = record(i+1, script.Run(ctx, client, rest[i].keys, rest[i].args...))
		}
	}
	return nil
}
