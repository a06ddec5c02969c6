package scripts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrNotDurable is a write that was not confirmed as asked for. It was made, and
// may survive or not.
var ErrNotDurable = errors.New("not durable")

// Durability is what a write needs before it counts.
type Durability struct {
	Replicas int           // so many replicas have it (WAIT)
	Fsync    bool          // the server has it on disk (WAITAOF)
	Timeout  time.Duration // for each of the two, 1 ms or more
}

// Durable is client for scripts whose writes are to be confirmed before they
// count: a script that was not gives ErrNotDurable.
//
// WAIT speaks for the last write of its own connection, so it goes with the
// script in one pipeline, on a cluster one to the very node that has the key.
// That holds for a script that is sent again, too, as each one writes something
// then. The client's read timeout has to exceed d.Timeout.
func Durable(client redis.UniversalClient, d Durability) redis.Scripter {
	return &durable{UniversalClient: client, d: d}
}

type durable struct {
	redis.UniversalClient
	d Durability
}

func (c *durable) EvalSha(ctx context.Context, sha1 string, keys []string, args ...any) *redis.Cmd {
	return c.run(ctx, keys, func(p redis.Pipeliner) *redis.Cmd { return p.EvalSha(ctx, sha1, keys, args...) })
}

func (c *durable) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return c.run(ctx, keys, func(p redis.Pipeliner) *redis.Cmd { return p.Eval(ctx, script, keys, args...) })
}

// movedTries and movedWait bound how long run follows a slot that moves.
const (
	movedTries = 5
	movedWait  = 20 * time.Millisecond
)

// run sends the script to the node that has the key, again while that is
// another one than the client knows.
func (c *durable) run(ctx context.Context, keys []string, script func(redis.Pipeliner) *redis.Cmd) *redis.Cmd {
	cluster, ok := c.UniversalClient.(*redis.ClusterClient)
	if !ok {
		return c.confirmed(ctx, c.UniversalClient, script)
	}
	for try := 1; ; try++ {
		node, err := cluster.MasterForKey(ctx, keys[0])
		if err != nil {
			return failed(ctx, err)
		}
		cmd := c.confirmed(ctx, node, script)
		_, moved := redis.IsMovedError(cmd.Err())
		_, ask := redis.IsAskError(cmd.Err())
		if !moved && !ask || try == movedTries {
			return cmd
		}
		cluster.ReloadState(ctx)
		select {
		case <-time.After(movedWait << try):
		case <-ctx.Done():
			return cmd
		}
	}
}

// confirmed runs the script and what confirms it on one connection.
func (c *durable) confirmed(ctx context.Context, node redis.Cmdable, script func(redis.Pipeliner) *redis.Cmd) *redis.Cmd {
	var cmd, wait, fsync *redis.Cmd
	within := c.d.Timeout.Milliseconds()
	_, _ = node.Pipelined(ctx, func(p redis.Pipeliner) error { // each command has its own error
		cmd = script(p)
		if c.d.Replicas > 0 {
			wait = p.Do(ctx, "WAIT", c.d.Replicas, within)
		}
		if c.d.Fsync {
			fsync = p.Do(ctx, "WAITAOF", 1, 0, within)
		}
		return nil
	})
	if cmd.Err() != nil { // nothing was written, so nothing is confirmed
		return cmd
	}
	if wait != nil {
		if n, err := wait.Int64(); err != nil || n < int64(c.d.Replicas) {
			cmd.SetErr(notDurable(fmt.Sprintf("%d of %d replicas have it within %v", n, c.d.Replicas, c.d.Timeout), err))
			return cmd
		}
	}
	if fsync != nil {
		if n, err := fsync.Int64Slice(); err != nil || len(n) != 2 || n[0] < 1 {
			cmd.SetErr(notDurable(fmt.Sprintf("not on disk within %v; this takes AOF and WAITAOF, Redis 7.2 or Valkey", c.d.Timeout), err))
		}
	}
	return cmd
}

func notDurable(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrNotDurable, what, err)
	}
	return fmt.Errorf("%w: %s", ErrNotDurable, what)
}

func failed(ctx context.Context, err error) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	cmd.SetErr(err)
	return cmd
}
