package scripts

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// pipelineLength bounds one round trip, so that many requests hold up neither
// the server nor a buffer.
const pipelineLength = 1000

// call is what one run of a script is given.
type call struct {
	keys []string
	args []any
}

func (c call) run(ctx context.Context, client redis.Scripter, script *redis.Script) *redis.Cmd {
	return script.Run(ctx, client, c.keys, c.args...)
}

// runAll runs a script once per call, in few round trips. settle takes the
// reply of a call in and gives the error in it; the errors come back in the
// order of the calls. Once the server does not answer, the rest is not sent.
func runAll(ctx context.Context, client redis.UniversalClient, script *redis.Script, calls []call, settle func(i int, reply *redis.Cmd) error) []error {
	errs := make([]error, len(calls))
	for low := 0; low < len(calls); low += pipelineLength {
		high := min(low+pipelineLength, len(calls))
		settleHere := func(i int, reply *redis.Cmd) error { return settle(low+i, reply) }
		if err := runChunk(ctx, client, script, calls[low:high], errs[low:high], settleHere); err != nil {
			for i := range errs[low:] {
				errs[low+i] = err
			}
			break
		}
	}
	return errs
}

// runChunk sends the first call by itself: that teaches the server the script
// where it does not know it, so that the others need not carry it. It gives an
// error when the server did not answer that.
func runChunk(ctx context.Context, client redis.UniversalClient, script *redis.Script, calls []call, errs []error, settle func(i int, reply *redis.Cmd) error) error {
	errs[0] = settle(0, calls[0].run(ctx, client, script))
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
		errs[i+1] = settle(i+1, reply)
		if redis.HasErrorPrefix(errs[i+1], "NOSCRIPT") { // flushed in between
			errs[i+1] = settle(i+1, rest[i].run(ctx, client, script))
		}
	}
	return nil
}
