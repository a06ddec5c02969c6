package redistest

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

const slots = 16384

// Cluster is a Redis Cluster.
type Cluster struct {
	t     testing.TB
	Nodes []*Server // the primaries first, then their replicas in the same order
}

// StartCluster starts a cluster of primaries that share the slots, each with the same number of replicas, and returns when
// it serves. A node counts as down after 1 s.
func StartCluster(t testing.TB, b Binary, primaries, replicas int, args ...string) *Cluster {
	t.Helper()
	c := &Cluster{t: t}
	for range primaries * (1 + replicas) {
		c.Nodes = append(c.Nodes, startNode(t, b, args))
	}
	for i, node := range c.Nodes {
		if i < primaries {
			node.do("CLUSTER", "ADDSLOTSRANGE", i*slots/primaries, (i+1)*slots/primaries-1)
		}
		node.do("CLUSTER", "SET-CONFIG-EPOCH", i+1)
	}
	host, port, _ := net.SplitHostPort(c.Nodes[0].HostPort())
	for _, node := range c.Nodes[1:] {
		node.do("CLUSTER", "MEET", host, port, c.Nodes[0].process.busPort)
	}
	c.Await(fmt.Sprintf("cluster_known_nodes:%d", len(c.Nodes)))
	for i, node := range c.Nodes[primaries:] {
		primary := c.Nodes[i%primaries]
		id := primary.do("CLUSTER", "MYID")
		node.Await("to know its primary", func(ctx context.Context) bool {
			client := node.once()
			defer func() { _ = client.Close() }()
			return client.Do(ctx, "CLUSTER", "REPLICATE", id).Err() == nil
		})
		node.Await("to be in sync", func(ctx context.Context) bool { return node.info(ctx, "master_link_status") == "up" })
		node.awaitStream(primary, "FUNCTION", "FLUSH") // a cluster does not replicate messages
	}
	c.Await("cluster_state:ok", fmt.Sprintf("cluster_slots_ok:%d", slots))
	if err := initialize(NewClusterClient(t, c), defaultNamespace); err != nil {
		t.Fatal(err)
	}
	return c
}

func startNode(t testing.TB, b Binary, args []string) *Server {
	t.Helper()
	var bus string
	if err := onFreePort(func(addr string) error {
		_, bus, _ = net.SplitHostPort(addr)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	node := start(t, b, "", slices.Concat([]string{
		"--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1", "--cluster-port", bus, "--cluster-node-timeout", "5000",
	}, args))
	node.process.busPort = bus
	return node
}

// Await waits until CLUSTER INFO of each node that answers has these lines.
func (c *Cluster) Await(lines ...string) {
	c.t.Helper()
	for _, node := range c.Nodes {
		node.Await("to say "+strings.Join(lines, ", "), func(ctx context.Context) bool {
			client := node.once()
			defer func() { _ = client.Close() }()
			info, err := client.ClusterInfo(ctx).Result()
			return err != nil || !slices.ContainsFunc(lines, func(line string) bool { return !strings.Contains(info, line+"\r\n") })
		})
	}
}

// AwaitTakeover waits until a replica has become a primary and all nodes that answer serve again.
func (c *Cluster) AwaitTakeover(replica *Server) {
	c.t.Helper()
	replica.Await("to take over", func(ctx context.Context) bool { return replica.info(ctx, "role") == "master" })
	c.Await("cluster_state:ok")
}

// Addrs returns the TCP addresses of the nodes.
func (c *Cluster) Addrs() []string { return hostPorts(c.Nodes) }

// Client returns a new client of the cluster, which is closed when t ends.
func (c *Cluster) Client(t testing.TB) Client {
	t.Helper()
	return NewClusterClient(t, c)
}

// Slot returns the hash slot of a key.
func (c *Cluster) Slot(key string) int64 {
	c.t.Helper()
	return c.Nodes[0].do("CLUSTER", "KEYSLOT", key).(int64)
}

// Move moves a slot with all its keys from one primary to another, one key at a time, as redis-cli does. After each step it
// calls between. It returns when all nodes have the new owner.
func (c *Cluster) Move(slot int64, from, to *Server, between func()) {
	c.t.Helper()
	host, port, _ := net.SplitHostPort(to.HostPort())
	target := to.do("CLUSTER", "MYID").(string)
	to.do("CLUSTER", "SETSLOT", slot, "IMPORTING", from.do("CLUSTER", "MYID"))
	from.do("CLUSTER", "SETSLOT", slot, "MIGRATING", target)
	between()
	for {
		keys := from.do("CLUSTER", "GETKEYSINSLOT", slot, 1).([]any)
		if len(keys) == 0 {
			break
		}
		from.do("MIGRATE", host, port, keys[0], 0, 10_000)
		between()
	}
	to.do("CLUSTER", "SETSLOT", slot, "NODE", target)
	between()
	from.do("CLUSTER", "SETSLOT", slot, "NODE", target)
	for _, node := range c.Nodes {
		node.Await("to know of the move", func(ctx context.Context) bool { return node.knowsOwner(ctx, slot, target) })
	}
}

// knowsOwner reports whether a node regards the primary with that id as the owner of a slot.
func (s *Server) knowsOwner(ctx context.Context, slot int64, id string) bool {
	client := s.once()
	defer func() { _ = client.Close() }()
	shards, _ := client.ClusterShards(ctx).Result()
	return slices.ContainsFunc(shards, func(shard redis.ClusterShard) bool {
		return slices.ContainsFunc(shard.Slots, func(r redis.SlotRange) bool { return r.Start <= slot && slot <= r.End }) &&
			slices.ContainsFunc(shard.Nodes, func(n redis.Node) bool { return n.ID == id })
	})
}
