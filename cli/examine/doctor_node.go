package examine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/allocator/admin/info"
	"github.com/hilo-id/hilo/cli/internal/finding"
	"github.com/hilo-id/hilo/cli/internal/target"
)

// node is one Redis process, with the findings about it.
type node struct {
	finding.Sheet
	addr     string
	info     map[string]string // fields of INFO; nil if it is not permitted
	config   map[string]string // settings of CONFIG; empty if it is not permitted
	replicas []replica
	watched  []target.Watched    // the replicas that its sentinels know, connected or not
	spread   []map[string]string // INFO of several connections to its address
}

// absent returns the addresses of the replicas that its sentinels know and that do not follow it.
func (n *node) absent() (addrs []string) {
	for _, known := range n.watched {
		if !slices.ContainsFunc(n.replicas, func(r replica) bool { return r.addr == known.Addr }) {
			addrs = append(addrs, known.Addr)
		}
	}
	return addrs
}

func (n *node) facts() info.Facts { return info.Facts{Info: n.info, Config: n.config} }

type replica struct {
	addr     string
	online   bool
	lag      time.Duration // since its last acknowledgement
	priority string        // "0" if it is never promoted, "" if unknown
}

// connect reads the prefix and the state of each node. It returns an error if workers cannot use the server.
func (p *probedServer) connect(ctx context.Context) error {
	var err error
	if p.admin, err = admin.New(p.client.Redis, admin.Options{Namespace: p.Namespace}); err != nil {
		return err
	}
	has, err := p.admin.ServerPrefix(ctx)
	if err != nil && !errors.Is(err, allocator.ErrCorrupt) {
		return err
	}
	p.reported = finding.Server{Name: p.Name, Settings: has, Err: err}
	if p.initialized, err = p.admin.Initialized(ctx); err != nil && !errors.Is(err, allocator.ErrCorrupt) {
		return err
	}
	clients, _ := p.client.Primaries(ctx) // without the nodes of a cluster the other checks still run
	for _, client := range clients {
		name := p.Name
		if p.client != client {
			name = strings.TrimSpace(p.Name + " " + client.Addr())
		}
		p.nodes = append(p.nodes, p.readNode(ctx, client, name))
	}
	slices.SortFunc(p.nodes, func(a, b *node) int { return cmp.Compare(a.Server, b.Server) })
	return nil
}

// readNode reads INFO and CONFIG of a node.
func (p *probedServer) readNode(ctx context.Context, client *target.Client, name string) *node {
	n := &node{Sheet: finding.Sheet{Server: name}, addr: client.Addr()}
	n.info, _ = client.Info(ctx)
	n.config, _ = client.Settings(ctx)
	n.spread = client.Spread(ctx, p.Timeout)
	n.watched = p.Watched(ctx, p.Timeout)
	for i := 0; ; i++ {
		line, ok := n.info[fmt.Sprintf("slave%d", i)]
		if !ok {
			return n
		}
		r := parseReplica(line)
		if strings.HasSuffix(r.addr, ":0") { // redis-cli --rdb, which reads a copy and ends
			continue
		}
		r.priority = p.priority(ctx, r.addr)
		for _, known := range n.watched {
			if known.Addr == r.addr { // what sentinels know can be seconds old
				r.priority = cmp.Or(r.priority, known.Priority)
			}
		}
		n.replicas = append(n.replicas, r)
	}
}

// priority reads the priority of a replica from the replica, because its primary does not report it. It returns "" if unknown.
func (p *probedServer) priority(ctx context.Context, addr string) string {
	client := p.Replica(addr)
	defer func() { _ = client.Redis.Close() }()
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	fields, _ := client.Info(ctx, "replication")
	return fields["slave_priority"]
}

// parseReplica parses a line of INFO such as ip=127.0.0.1,port=6380,state=online,offset=42,lag=1.
func parseReplica(line string) replica {
	fields := info.Fields(strings.NewReplacer(",", "\n", "=", ":").Replace(line)) // in the form of the other lines of INFO
	seconds, _ := strconv.Atoi(fields["lag"])                                     // an unknown lag is no fault
	return replica{
		addr:   net.JoinHostPort(fields["ip"], fields["port"]),
		online: fields["state"] == "online",
		lag:    time.Duration(seconds) * time.Second,
	}
}
