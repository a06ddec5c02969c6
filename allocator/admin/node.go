package admin

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator/admin/info"
)

// The fields of the server's own key.
const (
	fieldPrefix  = "ServerPrefix"
	fieldTag     = "NodeTag"
	fieldHome    = "Identities" // "here" or absent
	fieldDurable = "Durable"    // prefix.DurableAlways, replicas:N, or absent
	fieldMin     = "MinValue"   // decimal of 1 or more, or absent
	fieldMax     = "MaxValue"   // decimal of 1 or more, or absent
	homeHere     = "here"
)

// replication is the state that a server reports in INFO replication.
type replication struct {
	id        string // replication id, which changes when the server is restarted or promoted, "" if unknown
	replicas  int    // connected
	isReplica bool
	forbidden bool // the user may not call INFO
}

// node returns a client of the server that holds the namespace.
func (m *Admin) node(ctx context.Context) (redis.Cmdable, error) {
	if cluster, ok := m.client.(*redis.ClusterClient); ok {
		return cluster.MasterForKey(ctx, m.keys.Server())
	}
	return m.client, nil
}

// replication returns the state of the server that holds the namespace.
func (m *Admin) replication(ctx context.Context) (replication, error) {
	node, err := m.node(ctx)
	if err != nil {
		return replication{}, err
	}
	return readReplication(ctx, node)
}

func readReplication(ctx context.Context, node redis.Cmdable) (replication, error) {
	text, err := node.Info(ctx, "replication").Result()
	if answer := redis.Error(nil); errors.As(err, &answer) {
		// A server without such a section, as miniredis is, has no replicas.
		return replication{forbidden: !strings.Contains(err.Error(), "is not supported")}, nil
	}
	fields := info.Fields(text)
	replicas, _ := strconv.Atoi(fields["connected_slaves"])
	return replication{fields["master_replid"], replicas, fields["role"] == "slave", false}, err
}

// isCluster reports whether the server is a node of a cluster. Every user may call HELLO, and a server without it is no such
// node.
func isCluster(ctx context.Context, client client) bool {
	hello := redis.NewMapStringInterfaceCmd(ctx, "hello")
	return client.Process(ctx, hello) == nil && hello.Val()["mode"] == "cluster"
}
