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
	"strings"

	"github.com/redis/go-redis/v9"
)

// What the verbs share. They are no verbs of their own: each is put in front of
// those that need it, or behind.
var (
	//go:embed decimal.lua
	decimalLua string
	//go:embed state.lua
	stateLua string
	//go:embed server.lua
	serverLua string
	//go:embed counter.lua
	counterLua string
	//go:embed give.lua
	giveLua string
)

// load makes the script of a verb and of what it needs.
func load(parts ...string) *redis.Script {
	return redis.NewScript(decimalLua + stateLua + strings.Join(parts, "\n"))
}

// loadGiving is load for a verb that gives out numbers: field is the one that
// counts, own one that only this kind of counter has.
func loadGiving(field, own, verb string) *redis.Script {
	return load(serverLua, fmt.Sprintf("local field, own = '%s', '%s'", field, own), counterLua, verb, giveLua)
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
