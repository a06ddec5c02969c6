package scripts

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"
)

// A server refuses checkAsWrite and describeAsWrite, scripts without the flag no-writes, as it refuses a write: on a replica,
// without replicas, without memory, or if it cannot save. miniredis knows no flags.
var (
	checkSource     = takingSource("check", false)
	check           = redis.NewScript(checkSource)
	checkAsWrite    = redis.NewScript("#!lua\n" + checkSource)
	describeSource  = sourceWithSettings(true, "local WRITE = true\n"+describeLua)
	describeWriting = redis.NewScript(describeSource)
	describeAsWrite = redis.NewScript("#!lua\n" + describeSource)
)

// asWrite runs a script that declares no flags, or its other form where the server knows none.
func (c call) asWrite(ctx context.Context, client redis.Scripter, script, other *redis.Script) *redis.Cmd {
	cmd := c.run(ctx, client, script)
	if err := cmd.Err(); err != nil && strings.Contains(err.Error(), "near '#'") {
		return c.run(ctx, client, other)
	}
	return cmd
}

// CheckNext returns the error with which the server would refuse the request, and ErrNotDurable if the ceiling of a durable server
// is used up and cannot be raised now. It writes nothing, so it may be sent twice.
func CheckNext(ctx context.Context, client redis.Scripter, keys Keys, r NextRequest) error {
	_, err := decode(r.call(keys).asWrite(ctx, client, checkAsWrite, check), 1)
	return err
}

// DescribeAsWrite is Describe for a server that takes writes. Refused of the description is why it takes none.
func DescribeAsWrite(ctx context.Context, client redis.Scripter, key string) (Description, error) {
	c := call{keys: []string{key, key, key}}
	desc, err := description(c.asWrite(ctx, client, describeAsWrite, describeWriting))
	if err == nil || !WriteRefused(err) {
		return desc, err
	}
	desc, descErr := Describe(ctx, client, key)
	desc.Refused = err
	return desc, descErr
}

// WriteRefused reports whether err is the refusal of any write by a server, which CheckNext finds too.
func WriteRefused(err error) bool {
	reply, ok := errors.AsType[redis.Error](err)
	if !ok {
		return false
	}
	word, _, _ := strings.Cut(strings.TrimPrefix(reply.Error(), "ERR "), " ")
	switch word {
	case "READONLY", "NOREPLICAS", "OOM", "MISCONF", "MASTERDOWN":
		return true
	}
	return false
}
