package scripts

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed check.lua
var checkLua string

// checkSource is check.lua with the parts before it, and check the script. A server refuses checkAsWrite, a script without the
// flag no-writes, as it refuses a write: on a replica, without replicas, without memory, or if it cannot save.
var (
	checkSource  = source("local HOME = false\n" + serverLua + checkLua)
	check        = redis.NewScript(checkSource)
	checkAsWrite = redis.NewScript("#!lua\n" + checkSource)
)

// CheckRequest asks whether a server serves, and issues numbers of a counter.
type CheckRequest struct {
	Keys          Keys // of Next, or the server's key three times for no counter
	Limit         int64
	RequireSeeded bool
	// Replicas is the number of replicas that have to acknowledge a write within Timeout. It is not foreseen where INFO is
	// not permitted.
	Replicas int
	Timeout  time.Duration
}

// Check returns the error with which the server would refuse the request, as far as stored state and the server show it, and
// ErrNotDurable if fewer replicas follow than required. It writes nothing, so it may be sent twice.
func Check(ctx context.Context, client redis.Scripter, r CheckRequest) error {
	cmd := r.call().run(ctx, client, checkAsWrite)
	if err := cmd.Err(); err != nil && strings.Contains(err.Error(), "near '#'") { // miniredis, which knows no flags and refuses no write
		cmd = r.call().run(ctx, client, check)
	}
	return r.checked(cmd)
}

// DescribeAndCheck is Describe, and Check of a counter of that server, in one round trip. The Replicas that the server's Durable
// requires count too.
func DescribeAndCheck(ctx context.Context, client redis.Cmdable, key string, r CheckRequest) (Description, error) {
	var described, checked *redis.Cmd
	_, _ = client.Pipelined(ctx, func(p redis.Pipeliner) error { // each command has its own error
		c := r.call()
		described = describe.EvalSha(ctx, p, []string{key, key, key})
		checked = checkAsWrite.EvalSha(ctx, p, c.keys, c.args...)
		return nil
	})
	desc, err := description(described)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		desc, err = Describe(ctx, client, key)
	}
	if err != nil {
		return desc, err
	}
	r.Replicas = max(r.Replicas, desc.Replicas)
	if redis.HasErrorPrefix(checked.Err(), "NOSCRIPT") {
		desc.Refused = Check(ctx, client, r)
	} else {
		desc.Refused = r.checked(checked)
	}
	return desc, nil
}

// lag is for how many seconds a replica may be silent. It reports once a second, and its lag is in whole seconds.
func (r CheckRequest) lag() int64 { return int64(r.Timeout/time.Second) + 2 }

func (r CheckRequest) call() call {
	return call{[]string{r.Keys.Counter, r.Keys.Server, r.Keys.Other}, []any{r.Limit, bit(r.RequireSeeded), r.lag()}}
}

// checked returns the outcome of the script.
func (r CheckRequest) checked(cmd *redis.Cmd) error {
	reply, err := decode(cmd, 1)
	if err != nil || r.Replicas == 0 || reply[0] == "" {
		return err
	}
	var following int64
	if err := numbers(reply, &following); err != nil {
		return err
	}
	if following < int64(r.Replicas) {
		return notDurable(fmt.Sprintf("%d of %d replicas reported within the last %d s", following, r.Replicas, r.lag()), nil)
	}
	return nil
}

// WriteRefused reports whether err is the refusal of any write by a server, which Check finds too.
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
