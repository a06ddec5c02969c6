package scripts

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed describe.lua
var describeLua string

var describe = loadWithSettings(true, "local WRITE = false\n"+describeLua)

// Description has the settings of a server.
type Description struct {
	Prefix     string // before each number, "" for none
	Tag        string // after each number, "" for none
	Identities bool   // the server is the home of identities
	Origin     string // replication id of the server, "" if unknown
	// Durable is DurableReplica if a replica is connected to a server that states it. Describe does not remove it.
	Durable DurableState
	Interval
	// Refused is the error with which the server would refuse a write, of DescribeAsWrite alone.
	Refused error
}

// Interval bounds the numbers that a server issues. 0 means 1 and math.MaxInt64.
type Interval struct{ MinValue, MaxValue int64 }

// intervalOf parses min_value and max_value, with a space between them.
func intervalOf(text string) (i Interval, err error) {
	low, high, _ := strings.Cut(text, " ")
	if err = numbers([]string{low, high}, &i.MinValue, &i.MaxValue); err == nil && (i.MinValue < 1 || i.MaxValue < i.MinValue) {
		err = fmt.Errorf("%w: interval %q", ErrReply, text)
	}
	if i.MinValue == 1 {
		i.MinValue = 0
	}
	if i.MaxValue == math.MaxInt64 {
		i.MaxValue = 0
	}
	return i, err
}

// has reports whether a number is in the interval.
func (i Interval) has(n int64) bool { return n >= i.MinValue && (i.MaxValue == 0 || n <= i.MaxValue) }

// Describe reads the settings of a server. key is the name of their key. It writes nothing, so it may be sent twice.
func Describe(ctx context.Context, client redis.Scripter, key string) (Description, error) {
	return description(describe.Run(ctx, client, []string{key, key, key}))
}

// description returns the reply of the script.
func description(cmd *redis.Cmd) (Description, error) {
	reply, err := decode(cmd, 7)
	if err != nil {
		return Description{}, err
	}
	desc := Description{Prefix: reply[0], Tag: reply[1], Identities: reply[2] == "1", Origin: reply[3], Durable: DurableState(reply[4])}
	desc.Interval, err = intervalOf(reply[5] + " " + reply[6])
	return desc, err
}
