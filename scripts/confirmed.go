package scripts

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts/pipeline"
)

// Confirmed returns a Scripter whose scripts return ErrNotDurable unless so many replicas acknowledge their writes within timeout,
// 1 ms or more.
//
// WAIT covers the last write of its own connection, so it is sent with the script in one pipeline, on a cluster to the node that
// has the key. It also confirms a script that is sent again, because every script writes something then. The client's read
// timeout has to exceed timeout, and the client has to be Confirmable.
func Confirmed(client redis.Cmdable, replicas int, timeout time.Duration) redis.Scripter {
	return &confirming{Scripter: client, client: client, replicas: replicas, timeout: timeout}
}

type confirming struct {
	redis.Scripter // client, for commands that write nothing
	client         redis.Cmdable
	replicas       int
	timeout        time.Duration
}

func (c *confirming) EvalSha(ctx context.Context, sha1 string, keys []string, args ...any) *redis.Cmd {
	return c.run(ctx, keys, func(p redis.Pipeliner) *redis.Cmd { return p.EvalSha(ctx, sha1, keys, args...) })
}

func (c *confirming) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return c.run(ctx, keys, func(p redis.Pipeliner) *redis.Cmd { return p.Eval(ctx, script, keys, args...) })
}

// movedTries bounds the requests with which run follows a slot that moves. movedWait
// is the first wait for a slot that no known node has yet, and doubles each time.
const (
	movedTries = 6
	movedWait  = 10 * time.Millisecond
)

// run sends the script to the node that has the key.
func (c *confirming) run(ctx context.Context, keys []string, script func(redis.Pipeliner) *redis.Cmd) *redis.Cmd {
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

// confirmed runs the script and its confirmation on one connection.
func (c *confirming) confirmed(ctx context.Context, node redis.Cmdable, script func(redis.Pipeliner) *redis.Cmd) *redis.Cmd {
	var cmd, wait *redis.Cmd
	pipeline.Send(ctx, node, func(p redis.Pipeliner) {
		cmd = script(p)
		wait = p.Do(ctx, "WAIT", c.replicas, c.timeout.Milliseconds())
	})
	if cmd.Err() != nil { // nothing was written, so nothing is confirmed
		return cmd
	}
	switch n, err := wait.Int64(); {
	case err != nil:
		cmd.SetErr(fmt.Errorf("%w: WAIT: %w", ErrNotDurable, err))
	case n < int64(c.replicas):
		cmd.SetErr(fmt.Errorf("%w: %d of %d replicas have it within %v", ErrNotDurable, n, c.replicas, c.timeout))
	}
	return cmd
}
