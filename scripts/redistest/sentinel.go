package redistest

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// MasterName is what the sentinels of StartSentinels call the primary.
const MasterName = "main"

// Sentinels watch over a primary.
type Sentinels struct {
	t     testing.TB
	Nodes []*Server
}

// StartSentinels starts n sentinels that monitor a primary, and returns when each has found the others and that many
// replicas. The primary counts as down if more than half of them do not reach it for 1.5 s. A busy machine stands still for
// less.
func StartSentinels(t testing.TB, primary *Server, n, replicas int) *Sentinels {
	t.Helper()
	host, port, _ := net.SplitHostPort(primary.HostPort())
	config := fmt.Sprintf("sentinel monitor %[1]s %s %s %d\nsentinel down-after-milliseconds %[1]s 1500\n"+
		"sentinel failover-timeout %[1]s 3000\n", MasterName, host, port, n/2+1)
	s := &Sentinels{t: t}
	for range n {
		s.Nodes = append(s.Nodes, start(t, primary.process.binary, config, []string{"--sentinel"}))
	}
	for _, node := range s.Nodes {
		node.Await("to know the others", func(ctx context.Context) bool {
			known := node.master(ctx)
			return known["num-other-sentinels"] == fmt.Sprint(n-1) && known["num-slaves"] == fmt.Sprint(replicas)
		})
	}
	return s
}

// Addrs returns the TCP addresses of the sentinels.
func (s *Sentinels) Addrs() []string { return hostPorts(s.Nodes) }

// AwaitFailover waits until more than half of the sentinels report another primary than old.
func (s *Sentinels) AwaitFailover(old *Server) {
	s.t.Helper()
	s.Nodes[0].Await("to name another primary", func(ctx context.Context) bool {
		moved := 0
		for _, node := range s.Nodes {
			known := node.master(ctx)
			if known["port"] != "" && net.JoinHostPort(known["ip"], known["port"]) != old.HostPort() {
				moved++
			}
		}
		return moved > len(s.Nodes)/2
	})
}

// master returns what a sentinel reports of the primary.
func (s *Server) master(ctx context.Context) map[string]string {
	client := redis.NewSentinelClient(Options(s))
	defer func() { _ = client.Close() }()
	known, _ := client.Master(ctx, MasterName).Result()
	return known
}

func hostPorts(servers []*Server) []string {
	var all []string
	for _, s := range servers {
		all = append(all, s.HostPort())
	}
	return all
}

// field returns the value of a line "name:value" of INFO, or "" if there is none.
func field(text, name string) string {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
			return value
		}
	}
	return ""
}
