package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/finding"
	"github.com/hilo-id/hilo/cli/internal/target"
)

// node is one Redis process, as it describes itself, and the sheet of what is found there.
type node struct {
	finding.Sheet
	info     map[string]string // what INFO says; nil: it is not permitted
	config   map[string]string // what CONFIG says; empty: it is not permitted
	replicas []replica
}

// replica is one of a node's.
type replica struct {
	addr     string
	online   bool
	lag      time.Duration // since it was last heard
	priority string        // 0: it is never promoted; "": not known
}

// wanted is what the user's workers are going to ask for.
type wanted struct {
	target.Servers
	adds finding.Adds // what the server has now
}

// admit asks a server for its prefix, as every worker does, and for all that it says of itself. An error means that
// it does not serve.
func (p *patient) admit(ctx context.Context) error {
	var err error
	if p.admin, err = allocator.NewAdmin(p.client, p.Namespace); err != nil {
		return err
	}
	has, err := p.admin.ServerPrefix(ctx)
	if err != nil && !errors.Is(err, allocator.ErrCorrupt) {
		return err
	}
	p.adds = finding.Adds{Name: p.Name, Adds: has, Err: err}
	// An error means that a cluster does not tell its nodes: then there is none to look at, and the rest is checked all the same.
	clients, _ := target.Primaries(ctx, p.client)
	for _, client := range clients {
		name := p.Name
		if one, ok := client.(*redis.Client); ok && p.client != client {
			name = strings.TrimSpace(p.Name + " " + one.Options().Addr)
		}
		p.nodes = append(p.nodes, p.ask(ctx, client, name))
	}
	slices.SortFunc(p.nodes, func(a, b *node) int { return cmp.Compare(a.Server, b.Server) })
	return nil
}

// ask has a node describe itself.
func (p *patient) ask(ctx context.Context, client redis.Cmdable, name string) *node {
	n := &node{Sheet: finding.Sheet{Server: name}, config: make(map[string]string)}
	if text, err := client.Info(ctx).Result(); err == nil {
		n.info = target.ParseInfo(text)
	}
	for _, setting := range []string{"maxmemory-policy", "appendonly", "appendfsync", "save", "min-replicas-to-write"} {
		if got, err := client.ConfigGet(ctx, setting).Result(); err == nil {
			maps.Copy(n.config, got)
		}
	}
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

// priority asks a replica itself, since nobody else knows its priority. "" where it cannot be reached.
func (p *patient) priority(ctx context.Context, addr string) string {
	client := redis.NewClient(p.ReplicaOptions(addr))
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	text, err := client.Info(ctx, "replication").Result()
	if err != nil {
		return ""
	}
	return target.ParseInfo(text)["slave_priority"]
}

// parseReplica reads ip=127.0.0.1,port=6380,state=online,offset=42,lag=1.
func parseReplica(line string) replica {
	// All else that INFO says is written with these signs.
	fields := target.ParseInfo(strings.NewReplacer(",", "\n", "=", ":").Replace(line))
	seconds, _ := strconv.Atoi(fields["lag"]) // 0 where it is none: there is nothing to complain of
	return replica{
		addr:   net.JoinHostPort(fields["ip"], fields["port"]),
		online: fields["state"] == "online",
		lag:    time.Duration(seconds) * time.Second,
	}
}
