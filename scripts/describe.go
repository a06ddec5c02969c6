package scripts

import (
	"context"
	_ "embed"
	"fmt"
	"math"

	"github.com/redis/go-redis/v9"
)

//go:embed describe.lua
var describeLua string

var describe = loadGuarded(true, describeLua)

// Description has the values of a server's own key.
type Description struct {
	Prefix     string // before each number, "" for none
	Tag        string // after each number, "" for none
	Identities bool   // the server is the home of identities
	Origin     string // replication id of the server, "" if unknown
	// Durable is DurableAlways if a counter with another Origin lost nothing. Otherwise it is why such a counter would
	// jump and the field would be removed. Describe does not remove it.
	Durable DurableState
	Settings
	// Refused is the error with which the server would refuse a request for numbers, of DescribeAndCheck alone.
	Refused error
}

// Settings are the settings of a server that are numbers.
type Settings struct {
	// MinValue and MaxValue are the interval of the numbers that the server issues. 0 means 1 and math.MaxInt64.
	MinValue, MaxValue int64
	// Replicas is the number of replicas that have to acknowledge a number before it is used, 0 for none.
	Replicas int
}

// settingsOf parses min_value, max_value and replicas.
func settingsOf(texts []string) (s Settings, err error) {
	var replicas int64
	if err = numbers(texts, &s.MinValue, &s.MaxValue, &replicas); err == nil && (s.MinValue < 1 || s.MaxValue < s.MinValue || replicas > maxReplicas) {
		err = fmt.Errorf("%w: settings %q", ErrReply, texts)
	}
	s.Replicas = int(replicas)
	if s.MinValue == 1 {
		s.MinValue = 0
	}
	if s.MaxValue == math.MaxInt64 {
		s.MaxValue = 0
	}
	return s, err
}

const maxReplicas = 999

// has reports whether a number is in the interval.
func (s Settings) has(n int64) bool { return n >= s.MinValue && (s.MaxValue == 0 || n <= s.MaxValue) }

// Describe reads the values of a server's own key. key is the name of that key. It writes nothing, so it may be sent twice.
func Describe(ctx context.Context, client redis.Scripter, key string) (Description, error) {
	return description(describe.Run(ctx, client, []string{key, key, key}))
}

// description returns the reply of the script.
func description(cmd *redis.Cmd) (Description, error) {
	reply, err := decode(cmd, 8)
	if err != nil {
		return Description{}, err
	}
	desc := Description{Prefix: reply[0], Tag: reply[1], Identities: reply[2] == "1", Origin: reply[3], Durable: DurableState(reply[4])}
	desc.Settings, err = settingsOf(reply[5:])
	return desc, err
}
