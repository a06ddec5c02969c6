// Package scripts is everything of hilo that knows Lua: one script per verb,
// with one typed function each. A script reads and checks first and writes
// last, in one go, so a script that fails has written nothing.
//
// The functions take the key names and plain values; they know nothing of
// identifiers. They are safe for concurrent use, and say of themselves whether
// a request may be sent twice, which go-redis does on its own after a lost
// connection.
package scripts

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

//go:embed decimal.lua
var decimalLua string

//go:embed state.lua
var stateLua string

//go:embed counter.lua
var counterLua string

// load puts the shared functions in front of a verb.
func load(verb string) *redis.Script {
	return redis.NewScript(decimalLua + stateLua + verb)
}

// loadCounting is load for a verb that gives out numbers.
func loadCounting(verb string) *redis.Script {
	return load(counterLua + verb)
}

// run calls a script and checks that the reply is a flat array of n strings.
func run(ctx context.Context, client redis.Scripter, script *redis.Script, n int, keys []string, args ...any) ([]string, error) {
	return decode(script.Run(ctx, client, keys, args...), n)
}

func decode(cmd *redis.Cmd, n int) ([]string, error) {
	value, err := cmd.Result()
	if err != nil && !errors.Is(err, ErrNotDurable) { // that one comes beside the reply
		return nil, tagged(err)
	}
	items, ok := value.([]any)
	if !ok || len(items) != n {
		return nil, fmt.Errorf("%w: %v, want %d strings", ErrReply, value, n)
	}
	reply := make([]string, n)
	for i, item := range items {
		if reply[i], ok = item.(string); !ok {
			return nil, fmt.Errorf("%w: %v, want %d strings", ErrReply, value, n)
		}
	}
	return reply, err
}

// numbers reads non-negative decimals; the first that is none is an error.
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

func flag(on bool) string {
	if on {
		return "1"
	}
	return "0"
}
