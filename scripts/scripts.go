// Package scripts is everything of hilo that knows Lua: one script per verb,
// with one typed function each. A script reads and checks first and writes
// last, in one go, so a script that fails has written nothing.
//
// The functions take the names of keys and plain values; they know nothing of
// identifiers. Numbers are 0 to 2^63-1, and a text in a reply that is no such
// number is ErrReply. The functions are safe for concurrent use, and say of
// themselves whether a request may be sent twice, which go-redis does on its own
// after a lost connection.
//
// An error is one of this package's sentinels, each with a text that names key,
// value and rule, or what the client library says. A refusal has written nothing
// ([Answered]); after any other error nobody knows whether the script ran.
//
// The header of each script names its KEYS, ARGV, reply and errors.
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

//go:generate go test -run TestTheProtocolIsCurrent -update .

// What the verbs share. They are no verbs of their own: each is put in front of
// those that need it, or behind.
var (
	//go:embed decimal.lua
	decimalLua string
	//go:embed state.lua
	stateLua string
	//go:embed server.lua
	serverLua string
	//go:embed home.lua
	homeLua string
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
// counts, own one that only this kind of counter has, smallest how far it jumps
// at least.
func loadGiving(field, own string, smallest int, verb ...string) *redis.Script {
	kind := fmt.Sprintf("local field, own, smallest_gap = '%s', '%s', '%d'", field, own, smallest)
	return load(serverLua, kind, counterLua, strings.Join(verb, "\n"), giveLua)
}

// run calls a script and checks that the reply is a flat array of n strings.
func run(ctx context.Context, client redis.Scripter, script *redis.Script, n int, keys []string, args ...any) ([]string, error) {
	return decode(script.Run(ctx, client, keys, args...), n)
}

func decode(cmd *redis.Cmd, n int) ([]string, error) {
	value, err := cmd.Result()
	// With ErrNotDurable there is a reply too: the script ran, and its write was not confirmed.
	if err != nil && !errors.Is(err, ErrNotDurable) {
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
