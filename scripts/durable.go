package scripts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
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
// then. The client's read timeout has to exceed d.Timeout, and the client has to be
// Confirmable.
func Durable(client redis.UniversalClient, d Durability) redis.Scripter {
	return &durable{Scripter: client, client: client, d: d}
}

// Confirmable reports whether Durable knows where the writes of client go: it has
// to be a *redis.Client or a *redis.ClusterClient itself. Behind anything else may
// be a cluster, of which any node would answer WAIT, for itself.
func Confirmable(client redis.UniversalClient) bool {
	switch client.(type) {
	case *redis.Client, *redis.ClusterClient:
		return true
	}
	return false
}

type durable struct {
	redis.Scripter // as client; what is not a write goes by it
	client         redis.UniversalClient
	d              Durability
}

func (c *durable) EvalSha(ctx context.Context, sha1 string, keys []string, args ...any) *redis.Cmd {
	return c.run(ctx, keys, func(p redis.Pipeliner) *redis.Cmd { return p.EvalSha(ctx, sha1, keys, args...) })
}

func (c *durable) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return c.run(ctx, keys, func(p redis.Pipeliner) *redis.Cmd { return p.Eval(ctx, script, keys, args...) })
}

// On a cluster, run follows a slot that moves for at most so many requests, and
// waits so long, doubled each time, where nobody has the slot quite yet.
const (
	movedTries = 6
	movedWait  = 10 * time.Millisecond
)

// run sends the script to the node that has the key.
func (c *durable) run(ctx context.Context, keys []string, script func(redis.Pipeliner) *redis.Cmd) *redis.Cmd {
	cluster, ok := c.client.(*redis.ClusterClient)
	if !ok {
		return c.confirmed(ctx, c.client, script)
	}
	node, err := cluster.MasterForKey(ctx, keys[0])
	if err != nil {
		return failed(ctx, err)
	}
	send := script
	for try := 1; ; try++ {
		cmd := c.confirmed(ctx, node, send)
		moved, isMoved := redis.IsMovedError(cmd.Err())
		ask, isAsk := redis.IsAskError(cmd.Err())
		if !isMoved && !isAsk && !redis.IsTryAgainError(cmd.Err()) || try == movedTries {
			return cmd
		}
		var known bool
		if node, known, err = masterAt(ctx, cluster, cmp.Or(moved, ask), keys[0]); err != nil {
			return failed(ctx, err)
		}
		if send = script; isAsk && known { // this once: the slot is on its way there
			send = asking(ctx, script)
		}
		if known {
			continue
		}
		select {
		case <-time.After(movedWait << try):
		case <-ctx.Done():
			return cmd
		}
	}
}

// masterAt is the primary at an address that another one named, and whether the
// client knows it; otherwise it is the one that the client takes for the key's
// own. It has the client ask the cluster first: by itself that would do so later.
func masterAt(ctx context.Context, cluster *redis.ClusterClient, addr, key string) (node *redis.Client, known bool, err error) {
	var mu sync.Mutex // ForEachMaster calls from many goroutines
	err = cluster.ForEachMaster(ctx, func(_ context.Context, master *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		if master.Options().Addr == addr {
			node = master
		}
		return nil
	})
	if err != nil || node != nil {
		return node, node != nil, err
	}
	node, err = cluster.MasterForKey(ctx, key)
	return node, false, err
}

// asking is a script for a node that takes a slot over and has to be told that
// this is known.
func asking(ctx context.Context, script func(redis.Pipeliner) *redis.Cmd) func(redis.Pipeliner) *redis.Cmd {
	return func(p redis.Pipeliner) *redis.Cmd {
		p.Do(ctx, "ASKING")
		return script(p)
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
		switch n, err := fsync.Int64Slice(); {
		case err != nil && strings.Contains(err.Error(), "unknown command"):
			cmd.SetErr(notDurable("the server has no WAITAOF, which takes Redis 7.2 or later, or Valkey", nil))
		case err != nil || len(n) != 2 || n[0] < 1:
			cmd.SetErr(notDurable(fmt.Sprintf("not on disk within %v, which takes AOF", c.d.Timeout), err))
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
