// Package scripts has hilo's Lua for its own packages: programs use package allocator. There is one script for each verb, with
// one typed function for each script. A script reads and checks everything before it writes, so a script that fails has written
// nothing.
//
// The functions take the names of keys and plain values, and do not depend on the form of identifiers. Numbers are 0 to 2^63-1,
// and any other text in their place in a reply is ErrReply. The functions are safe for concurrent use. Each documents whether its
// request may be sent twice, which go-redis does by itself after a lost connection.
//
// An error is one of this package's sentinels, with a text that names key, value and rule, or an error of the client library.
// After a refusal ([Answered]) nothing was written. After any other error it is unknown whether the script ran.
//
// The header of each script documents its KEYS, ARGV, reply and errors.
package scripts

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts/pipeline"
)

// Parts that scripts share. None is a script of its own.
var (
	//go:embed decimal.lua
	decimalLua string
	//go:embed state.lua
	stateLua string
	//go:embed server.lua
	serverLua string
	//go:embed replication.lua
	replicationLua string
	//go:embed raising.lua
	raisingLua string
	//go:embed take.lua
	takeLua string
)

// load returns a script, its own part after the parts that all scripts have.
func load(own string) *redis.Script { return redis.NewScript(source(own)) }

func source(own string) string { return decimalLua + stateLua + replicationLua + own }

// loadWithSettings is load for a script that reads the server's settings. home reports whether it reads Identities too.
func loadWithSettings(home bool, own string) *redis.Script {
	return redis.NewScript(sourceWithSettings(home, own))
}

func sourceWithSettings(home bool, own string) string {
	return source(fmt.Sprintf("local HOME = %t\n", home) + serverLua + own)
}

// loadTaking is loadWithSettings for take.lua, in one of its modes, for a collection or an identity.
func loadTaking(mode string, identity bool) *redis.Script {
	return redis.NewScript(takingSource(mode, identity))
}

func takingSource(mode string, identity bool) string {
	disk := ""
	if mode != "take" {
		disk = ceilingLua
	}
	return sourceWithSettings(identity, disk+fmt.Sprintf("local IDENTITY, MODE = %t, %q\n", identity, mode)+takeLua)
}

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
			pipeline.Send(ctx, client, func(p redis.Pipeliner) {
				for _, r := range rest {
					c := r.call()
					replies = append(replies, script.EvalSha(ctx, p, c.keys, c.args...))
				}
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

// decode checks that the reply of a script is a flat array of n strings, or of one of the other lengths.
func decode(cmd *redis.Cmd, n int, others ...int) ([]string, error) {
	value, err := cmd.Result()
	if err != nil {
		return nil, tagged(err)
	}
	items, ok := value.([]any)
	if !ok || len(items) != n && !slices.Contains(others, len(items)) {
		return nil, fmt.Errorf("%w: %v, want %d strings", ErrReply, value, n)
	}
	reply := make([]string, len(items))
	for i, item := range items {
		if reply[i], ok = item.(string); !ok {
			return nil, fmt.Errorf("%w: %v, want %d strings", ErrReply, value, n)
		}
	}
	return reply, nil
}

// numbers parses non-negative decimals.
func numbers(texts []string, into ...*int64) error {
	for i, text := range texts {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return fmt.Errorf("%w: %q is not a number of int64", ErrReply, text)
		}
		*into[i] = n
	}
	return nil
}

func bit(on bool) string {
	if on {
		return "1"
	}
	return "0"
}
