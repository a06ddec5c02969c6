package scripts

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"
)

// pipelineLength bounds one round trip, so that many requests neither block the server nor fill a buffer.
const pipelineLength = 1000

// call has the arguments of one run of a script.
type call struct {
	keys []string
	args []any
}

func (c call) run(ctx context.Context, client redis.Scripter, script *redis.Script) *redis.Cmd {
	return script.Run(ctx, client, c.keys, c.args...)
}

// runAll runs a script once per request, in few round trips, and returns what read makes of the replies, in the order of the
// requests. The first one of each round trip is sent by itself, which loads the script if the server does not have it, so that
// the others are sent without its text. Once the server does not answer, the rest is not sent.
func runAll[Q interface{ call() call }, R any](ctx context.Context, client redis.Cmdable, script *redis.Script, requests []Q, read func(*redis.Cmd) R) []R {
	results := make([]R, 0, len(requests))
	for chunk := range slices.Chunk(requests, pipelineLength) {
		first := chunk[0].call().run(ctx, client, script)
		if err := first.Err(); err != nil && !Answered(tagged(err)) {
			return append(results, slices.Repeat([]R{read(first)}, len(requests)-len(results))...)
		}
		replies := []*redis.Cmd{first}
		if rest := chunk[1:]; len(rest) > 0 {
			_, _ = client.Pipelined(ctx, func(p redis.Pipeliner) error { // each command has its own error
				for _, r := range rest {
					c := r.call()
					replies = append(replies, script.EvalSha(ctx, p, c.keys, c.args...))
				}
				return nil
			})
		}
		for i, reply := range replies {
			if redis.HasErrorPrefix(reply.Err(), "NOSCRIPT") { // flushed in between
				reply = chunk[i].call().run(ctx, client, script)
			}
			results = append(results, read(reply))
		}
	}
	return results
}
