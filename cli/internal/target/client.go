package target

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/hilo-id/hilo/allocator/admin/info"
	"github.com/hilo-id/hilo/scripts/pipeline"
)

// Client is a client of a server, with what hilo sends besides the commands of the library.
type Client struct{ Redis redis.UniversalClient }

// Limit sets a timeout of each command with its retries. It is called once, before the first command.
func (c *Client) Limit(timeout time.Duration) { c.Redis.AddHook(stepLimit(timeout)) }

// Addr returns the address of a single server, and "" for a cluster.
func (c *Client) Addr() string {
	if one, ok := c.Redis.(*redis.Client); ok {
		return one.Options().Addr
	}
	return ""
}

// Info returns the fields of INFO.
func (c *Client) Info(ctx context.Context, sections ...string) (map[string]string, error) {
	text, err := c.Redis.Info(ctx, sections...).Result()
	if err != nil {
		return nil, err
	}
	return info.Fields(text), nil
}

// Settings reads the settings of a node for info.Facts. The error is nil if CONFIG is not permitted.
func (c *Client) Settings(ctx context.Context) (map[string]string, error) {
	config := make(map[string]string)
	for _, setting := range []string{"maxmemory-policy", "appendonly", "appendfsync", "save", "min-replicas-to-write"} {
		got, err := c.Redis.ConfigGet(ctx, setting).Result()
		if Answered(err) {
			break
		}
		if err != nil {
			return config, err
		}
		maps.Copy(config, got)
	}
	return config, nil
}

// Hash is a result of Hashes.
type Hash struct {
	TTL    time.Duration // below 0 if the key does not expire, and 0 if this was not read
	Values []any         // of the fields, each nil or a string
	Err    error
}

// WrongType reports whether the key holds something other than a hash.
func (h Hash) WrongType() bool { return redis.HasErrorPrefix(h.Err, "WRONGTYPE") }

// Hashes reads fields of keys in one round trip. With expiry it also reads when they expire, which takes a right besides +hmget.
func (c *Client) Hashes(ctx context.Context, keys, fields []string, expiry bool) []Hash {
	ttls, values := make([]*redis.DurationCmd, len(keys)), make([]*redis.SliceCmd, len(keys))
	pipeline.Send(ctx, c.Redis, func(p redis.Pipeliner) {
		for i, key := range keys {
			ttls[i], values[i] = &redis.DurationCmd{}, p.HMGet(ctx, key, fields...)
			if expiry {
				ttls[i] = p.PTTL(ctx, key)
			}
		}
	})
	read := make([]Hash, len(keys))
	for i := range keys {
		read[i] = Hash{TTL: ttls[i].Val(), Values: values[i].Val(), Err: cmp.Or(values[i].Err(), ttls[i].Err())}
	}
	return read
}

// FieldTTLs reads when fields of keys expire, in one round trip. Each result has only the fields that do. Before Redis 7.4 no field
// can expire. The error is about the rights of the user, or the connection.
func (c *Client) FieldTTLs(ctx context.Context, keys, fields []string) ([]map[string]time.Duration, error) {
	read := make([]map[string]time.Duration, len(keys))
	replies := make([]*redis.IntSliceCmd, len(keys))
	pipeline.Send(ctx, c.Redis, func(p redis.Pipeliner) {
		for i, key := range keys {
			replies[i] = p.HTTL(ctx, key, fields...)
		}
	})
	for i, reply := range replies {
		seconds, err := reply.Result()
		if err != nil && (!Answered(err) || Forbidden(err)) {
			return nil, err
		}
		read[i] = make(map[string]time.Duration)
		for n, left := range seconds { // none after another error: the command is unknown, or the key is no hash
			if left >= 0 && n < len(fields) {
				read[i][fields[n]] = time.Duration(left) * time.Second
			}
		}
	}
	return read, nil
}

// Holder returns the node that has a key, and with it all keys of its namespace.
func (c *Client) Holder(ctx context.Context, key string) (*Client, error) {
	cluster, ok := c.Redis.(*redis.ClusterClient)
	if !ok {
		return c, nil
	}
	node, err := cluster.MasterForKey(ctx, key)
	if err != nil {
		return nil, err
	}
	return &Client{node}, nil
}

// Primaries returns the nodes that together have every key once.
func (c *Client) Primaries(ctx context.Context) ([]*Client, error) {
	cluster, ok := c.Redis.(*redis.ClusterClient)
	if !ok {
		return []*Client{c}, nil
	}
	var mu sync.Mutex // the calls are concurrent
	var nodes []*Client
	err := cluster.ForEachMaster(ctx, func(_ context.Context, node *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		nodes = append(nodes, &Client{node})
		return nil
	})
	return nodes, err
}

// connections is the number that Spread opens. A balancer that picks one of two servers at random leads all of them to the same
// one in 1 of 32,768 cases.
const connections = 16

// Spread opens connections to the address of a single server and returns the fields of INFO of each, read while all are open. Those
// that fail are left out. A balancer may lead them to several servers. For a cluster it returns nil.
func (c *Client) Spread(ctx context.Context, timeout time.Duration) (replies []map[string]string) {
	one, ok := c.Redis.(*redis.Client)
	if !ok {
		return nil
	}
	opts := *one.Options()
	opts.PoolSize, opts.MinIdleConns, opts.MaxIdleConns, opts.MaxActiveConns, opts.MaxRetries = connections, 0, 0, 0, -1
	client := redis.NewClient(&opts)
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var open [connections]*redis.Conn
	var read [connections]map[string]string
	for i := range open {
		open[i] = client.Conn()
	}
	for range 2 { // a server that is restarted in between is not two
		var all sync.WaitGroup
		for i, conn := range open {
			all.Go(func() {
				text, _ := conn.Info(ctx).Result()
				read[i] = info.Fields(text)
			})
		}
		all.Wait()
	}
	for i, conn := range open {
		_ = conn.Close()
		if len(read[i]) > 0 {
			replies = append(replies, read[i])
		}
	}
	return replies
}

// KeysAtOnce is the approximate number of keys that each step of Keys covers.
const KeysAtOnce = 1000

// Keys iterates over the keys of a node that match a pattern, in steps that do not block the server.
func (c *Client) Keys(ctx context.Context, pattern string) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		for cursor := uint64(0); ; {
			keys, next, err := c.Redis.Scan(ctx, cursor, pattern, KeysAtOnce).Result()
			if !yield(keys, err) || err != nil || next == 0 {
				return
			}
			cursor = next
		}
	}
}

// RedisLog logs the messages of go-redis at level debug, because errors reach the caller anyway.
type RedisLog struct{ *zap.Logger }

// Printf implements the logger of go-redis.
func (l RedisLog) Printf(_ context.Context, format string, v ...any) {
	l.Debug("go-redis: " + fmt.Sprintf(format, v...))
}

// SetLog sets the log of go-redis, for the whole process.
func SetLog(log RedisLog) { redis.SetLogger(log) }

// stepLimit is a hook that sets a timeout of each command with its retries. A scan consists of many commands, and has no limit
// as a whole.
type stepLimit time.Duration

// DialHook implements redis.Hook.
func (stepLimit) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (l stepLimit) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return within(l, next) }

// ProcessPipelineHook implements redis.Hook.
func (l stepLimit) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return within(l, next)
}

func within[Sent any](l stepLimit, next func(context.Context, Sent) error) func(context.Context, Sent) error {
	return func(ctx context.Context, sent Sent) error {
		ctx, cancel := context.WithTimeout(ctx, time.Duration(l))
		defer cancel()
		return next(ctx, sent)
	}
}
