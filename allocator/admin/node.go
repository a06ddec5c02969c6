package admin

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator/admin/info"
)

// replication is the state that a server reports in INFO replication.
type replication struct {
	id        string // replication id, which changes when the server is restarted or promoted, "" if unknown
	before    string // the id before the promotion of the server, zeros if there was none
	replicas  int    // connected, those alone that are servers
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
	return replication{fields["master_replid"], fields["master_replid2"], countReplicas(fields), fields["role"] == "slave", false}, err
}

// countReplicas counts the connected replicas in INFO replication that have a port. One without is a program that reads the data once,
// as redis-cli --rdb does.
func countReplicas(fields map[string]string) (n int) {
	for name, value := range fields {
		if strings.HasPrefix(name, "slave") && strings.Contains(value, ",port=") && !strings.Contains(value, ",port=0,") {
			n++
		}
	}
	return n
}

// isCluster reports whether the server is a node of a cluster. Every user may call HELLO, and a server without it is no such
// node.
func isCluster(ctx context.Context, client redis.UniversalClient) bool {
	hello := redis.NewMapStringInterfaceCmd(ctx, "hello")
	return client.Process(ctx, hello) == nil && hello.Val()["mode"] == "cluster"
}
