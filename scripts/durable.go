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

// ErrNotDurable means that a write was not confirmed as required. It was made, and may survive or not.
var ErrNotDurable = errors.New("not durable")

// Durability states how writes have to be confirmed.
type Durability struct {
	Replicas int           // number of replicas that have to acknowledge (WAIT)
	Fsync    bool          // the server has to have the write on disk (WAITAOF)
	Timeout  time.Duration // of each of the two, 1 ms or more
}

// Durable returns a Scripter whose scripts return ErrNotDurable unless their writes are confirmed.
//
// WAIT covers the last write of its own connection, so it is sent with the script in one pipeline, on a cluster to the node that
// has the key. It also confirms a script that is sent again, because every script writes something then. The client's read
// timeout has to exceed d.Timeout, and the client has to be Confirmable.
func Durable(client redis.Cmdable, d Durability) redis.Scripter {
	return &durable{Scripter: client, client: client, d: d}
}

type durable struct {
	redis.Scripter // client, for commands that write nothing
	client         redis.Cmdable
	d              Durability
}

func (c *durable) EvalSha(ctx context.Context, sha1 string, keys []string, args ...any) *redis.Cmd {
	return c.run(ctx, keys, func(p redis.Pipeliner) *redis.Cmd { return p.EvalSha(ctx, sha1, keys, args...) })
}

func (c *durable) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return c.run(ctx, keys, func(p redis.Pipeliner) *redis.Cmd { return p.Eval(ctx, script, keys, args...) })
}

// movedTries bounds the requests with which run follows a slot that moves. movedWait
// is the first wait for a slot that no known node has yet, and doubles each time.
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
		return redis.NewCmdResult(nil, err)
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
			return redis.NewCmdResult(nil, err)
		}
		if send = script; isAsk && known { // for this request only, while the slot moves to a node that refuses its keys otherwise
			send = func(p redis.Pipeliner) *redis.Cmd {
				p.Do(ctx, "ASKING")
				return script(p)
			}
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

// masterAt returns the primary at an address that another node named, and whether the client knows it. Otherwise it returns the
// node that the client takes for the key's. It makes the client ask the cluster first, which the client by itself does later.
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

// confirmed runs the script and its confirmations on one connection.
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
			if err == nil && !c.d.Fsync {
				cmd.SetErr(&acknowledgedError{n, cmd.Err()})
			}
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

// acknowledgedError is an ErrNotDurable that says how many replicas acknowledged the write, where nothing else was required.
type acknowledgedError struct {
	replicas int64
	error
}

func (e *acknowledgedError) Unwrap() error { return e.error }

// Suffices reports whether a write that was not confirmed as required is confirmed by as many replicas as are needed, because
// fewer are than the client knew.
func Suffices(err error, needed int) bool {
	few, ok := errors.AsType[*acknowledgedError](err)
	return ok && few.replicas >= int64(needed)
}

func notDurable(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrNotDurable, what, err)
	}
	return fmt.Errorf("%w: %s", ErrNotDurable, what)
}
