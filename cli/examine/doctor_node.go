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
	"github.com/hilo-id/hilo/cli/internal/finding"
	"github.com/hilo-id/hilo/cli/internal/target"
)

// node is one Redis process, as it describes itself, and the sheet of what is found there.
type node struct {
	finding.Sheet
	info     map[string]string // fields of INFO; nil where it is not permitted
	config   map[string]string // settings of CONFIG; empty where it is not permitted
	replicas []replica
}

func (n *node) facts() target.Facts { return target.Facts{Info: n.info, Config: n.config} }

// replica is one of a node's.
type replica struct {
	addr     string
	online   bool
	lag      time.Duration // since its last acknowledgement
	priority string        // "0" where it is never promoted, "" where it is unknown
}

// wanted has the durability and rules of the user's workers.
type wanted struct {
	target.Servers
	adds finding.Adds // what the server has now
}

// connect asks a server for its prefix, as every worker does, and for all that it says of itself. An error means that
// it does not serve.
func (p *probedServer) connect(ctx context.Context) error {
	var err error
	if p.admin, err = p.client.Admin(admin.Options{Namespace: p.Namespace}); err != nil {
		return err
	}
	has, err := p.admin.ServerPrefix(ctx)
	if err != nil && !errors.Is(err, allocator.ErrCorrupt) {
		return err
	}
	p.adds = finding.Adds{Name: p.Name, Adds: has, Err: err}
	// An error means that a cluster does not tell its nodes: then there is none to look at, and the rest is checked all the same.
	clients, _ := p.client.Primaries(ctx)
	for _, client := range clients {
		name := p.Name
		if p.client != client {
			name = strings.TrimSpace(p.Name + " " + client.Addr())
		}
		p.nodes = append(p.nodes, p.ask(ctx, client, name))
	}
	slices.SortFunc(p.nodes, func(a, b *node) int { return cmp.Compare(a.Server, b.Server) })
	return nil
}

// ask reads INFO and CONFIG of a node.
func (p *probedServer) ask(ctx context.Context, client *target.Client, name string) *node {
	n := &node{Sheet: finding.Sheet{Server: name}}
	n.info, _ = client.Info(ctx)
	n.config, _ = client.Settings(ctx)
	for i := 0; ; i++ {
		line, ok := n.info[fmt.Sprintf("slave%d", i)]
		if !ok {
			return n
		}
		r := parseReplica(line)
		r.priority = p.priority(ctx, r.addr)
		n.replicas = append(n.replicas, r)
	}
}

// priority asks a replica itself, because no other node reports its priority. It returns "" where it cannot be reached.
func (p *probedServer) priority(ctx context.Context, addr string) string {
	client := p.Replica(addr)
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	info, _ := client.Info(ctx, "replication")
	return info["slave_priority"]
}

// parseReplica reads ip=127.0.0.1,port=6380,state=online,offset=42,lag=1.
func parseReplica(line string) replica {
	// Other lines of INFO are written with these signs.
	fields := target.ParseInfo(strings.NewReplacer(",", "\n", "=", ":").Replace(line))
	seconds, _ := strconv.Atoi(fields["lag"]) // 0 where it is none: there is nothing to complain of
	return replica{
		addr:   net.JoinHostPort(fields["ip"], fields["port"]),
		online: fields["state"] == "online",
		lag:    time.Duration(seconds) * time.Second,
	}
}
