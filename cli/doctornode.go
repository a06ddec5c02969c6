package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
)

// node is one Redis process, as it describes itself.
type node struct {
	name     string            // for findings
	info     map[string]string // what INFO says; nil: it is not permitted
	config   map[string]string // what CONFIG says; nil: it is not permitted
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
	durability    allocator.Durability
	requireSeeded bool
}

// asked are the settings that the checks look at.
func asked() []string {
	return []string{"maxmemory-policy", "appendonly", "appendfsync", "save", "min-replicas-to-write"}
}

// setting is what CONFIG says or, where it is not permitted, INFO under its own name; known is false where neither does.
func (n node) setting(name, inInfo string) (value string, known bool) {
	if value, known = n.config[name]; known {
		return value, true
	}
	value, known = n.info[inInfo]
	return value, known
}

// admit asks a server for its prefix, as every worker does, and for all that it says of itself. An error means that
// it does not serve.
func (d doctor) admit(ctx context.Context, p *patient) error {
	m, err := allocator.NewAdmin(p.client, d.Namespace)
	if err != nil {
		return err
	}
	p.adds.name = p.name
	if p.adds.adds, err = m.ServerPrefix(ctx); err != nil && !errors.Is(err, allocator.ErrCorrupt) {
		return err
	}
	p.adds.err = err
	p.nodes = p.describe(ctx)
	return nil
}

// describe asks each node, on a cluster each primary.
func (p *patient) describe(ctx context.Context) []node {
	cluster, ok := p.client.(*redis.ClusterClient)
	if !ok {
		return []node{p.ask(ctx, p.client, p.name)}
	}
	var mu sync.Mutex // ForEachMaster asks them all at once
	var nodes []node
	_ = cluster.ForEachMaster(ctx, func(ctx context.Context, client *redis.Client) error {
		n := p.ask(ctx, client, strings.TrimSpace(p.name+" "+client.Options().Addr))
		mu.Lock()
		defer mu.Unlock()
		nodes = append(nodes, n)
		return nil
	})
	slices.SortFunc(nodes, func(a, b node) int { return cmp.Compare(a.name, b.name) })
	return nodes
}

func (p *patient) ask(ctx context.Context, client redis.Cmdable, name string) node {
	n := node{name: name}
	if text, err := client.Info(ctx).Result(); err == nil {
		n.info = parseInfo(text)
	}
	for _, setting := range asked() {
		if got, err := client.ConfigGet(ctx, setting).Result(); err == nil {
			if n.config == nil {
				n.config = make(map[string]string)
			}
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
	client := redis.NewClient(p.replicaOptions(addr))
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	text, err := client.Info(ctx, "replication").Result()
	if err != nil {
		return ""
	}
	return parseInfo(text)["slave_priority"]
}

// replicaOptions are those of the target, at another address. The login of a server is that of its replicas.
func (t target) replicaOptions(addr string) *redis.Options {
	o := &redis.Options{Addr: addr, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true}
	switch {
	case t.single != nil:
		o.Username, o.Password, o.TLSConfig = t.single.Username, t.single.Password, t.single.TLSConfig
	case t.failover != nil:
		o.Username, o.Password, o.TLSConfig = t.failover.Username, t.failover.Password, t.failover.TLSConfig
	case t.cluster != nil:
		o.Username, o.Password, o.TLSConfig = t.cluster.Username, t.cluster.Password, t.cluster.TLSConfig
	}
	return o
}

func parseInfo(text string) map[string]string {
	fields := make(map[string]string)
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		if name, value, ok := strings.Cut(strings.TrimSpace(lines.Text()), ":"); ok {
			fields[name] = value
		}
	}
	return fields
}

// parseReplica reads ip=127.0.0.1,port=6380,state=online,offset=42,lag=1.
func parseReplica(line string) replica {
	fields := make(map[string]string)
	for part := range strings.SplitSeq(line, ",") {
		name, value, _ := strings.Cut(part, "=")
		fields[name] = value
	}
	seconds, _ := strconv.Atoi(fields["lag"]) // 0 where it is none: there is nothing to complain of
	return replica{
		addr:   net.JoinHostPort(fields["ip"], fields["port"]),
		online: fields["state"] == "online",
		lag:    time.Duration(seconds) * time.Second,
	}
}
