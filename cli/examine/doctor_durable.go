package examine

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/finding"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/cli/internal/term"
	"github.com/hilo-id/hilo/prefix"
)

const checkStated = "durable"

// checkStatedDurability compares what the server states of its writes with its configuration and its replicas.
func (p *probedServer) checkStatedDurability(ctx context.Context) {
	if p.reported.Settings.Replicas() > 0 {
		p.checkStatedReplicas(p.holder(ctx))
		return
	}
	states, err := p.reported.Settings.Durable != "", p.admin.CheckDurable(ctx)
	what := ""
	if err != nil {
		_, what, _ = strings.Cut(exit.Plain(err), ": ")
	}
	holder := p.holder(ctx)
	switch {
	case states && err == nil:
		p.Add(checkStated, finding.OK, "it states that it keeps every write, and its settings agree")
	case states && errors.Is(err, admin.ErrNotDurableServer):
		p.Add(checkStated, finding.Fault, "it states that it keeps every write, and does not: %s", what).
			Because("After a restart that lost writes its counters would not jump, and numbers would be issued twice.").
			Remedy("Take the statement back with hilo prefix set --durable= --redis URL, or change the settings.")
	case states:
		p.Add(checkStated, finding.Unknown, "it states that it keeps every write, which could not be checked: %s", what).
			Because("After a restart that lost writes its counters would not jump.").Remedy("Compare appendonly, appendfsync and no-appendfsync-on-rewrite by hand.")
	case err == nil:
		p.Add(checkStated, finding.Note, "it keeps every write, and does not state so").
			Because("Its counters jump by 65,536 or more after each restart.").
			Remedy("If no replica and no backup of its data will ever replace it: hilo prefix set --durable always --redis URL.")
	case holder != nil && holder.online() > 0:
		n := len(holder.replicas)
		p.Add(checkStated, finding.Note, "it has %s, and does not state that what is promoted has every number", term.Plural(n, "replica")).
			Because("Its counters jump by 65,536 or more after each failover.").
			Remedy("hilo prefix set --durable replicas:%d --redis URL, so that every client waits for the replicas, and counters jump a little.", n)
	}
}

// holder returns the node that has the keys of the namespace, or nil if it is unknown.
func (p *probedServer) holder(ctx context.Context) *node {
	if len(p.nodes) == 1 {
		return p.nodes[0]
	}
	client, err := p.client.Holder(ctx, prefix.NewKeys(p.Namespace).Server())
	if err != nil {
		return nil
	}
	i := slices.IndexFunc(p.nodes, func(n *node) bool { return n.addr == client.Addr() })
	if i < 0 {
		return nil
	}
	return p.nodes[i]
}

// online returns the number of replicas that can acknowledge a write.
func (n *node) online() (online int) {
	for _, r := range n.replicas {
		if r.online {
			online++
		}
	}
	return online
}

// checkStatedReplicas compares replicas:N with the replicas of the node that has the keys. With fewer than all of them the one
// that is promoted has every number only if the sentinels choose by the numbers, and not by the priority.
func (p *probedServer) checkStatedReplicas(n *node) {
	word, stated := p.reported.Settings.Durable, p.reported.Settings.Replicas()
	if n == nil || n.info["role"] == "" {
		p.Add(checkStated, finding.Unknown, "it states %s, and INFO does not report its replicas", word).
			Because("With fewer of them it issues nothing.").Remedy(grantInfo)
		return
	}
	replicas := p.watched
	if len(replicas) < len(n.replicas) {
		replicas = nil
		for _, r := range n.replicas {
			replicas = append(replicas, target.Watched{Addr: r.addr, Priority: r.priority})
		}
	}
	all := len(replicas)
	allOfThem := func(f *finding.Finding, first string) {
		f.Remedy("%s hilo prefix set --durable replicas:%d --redis URL, which issues nothing new while one is down.", first, all)
	}
	var unknown, priorities []string
	equal := true
	for _, r := range replicas {
		if r.Priority == "" {
			unknown = append(unknown, r.Addr)
			continue
		}
		priorities = append(priorities, r.Priority+" at "+r.Addr)
		equal = equal && r.Priority != "0" && (replicas[0].Priority == "" || r.Priority == replicas[0].Priority)
	}
	const promoted = "One that lacks the newest numbers may be promoted, which then issues them a second time."
	switch online := n.online(); {
	case online < stated:
		p.Add(checkStated, finding.Fault, "it states %s, and %s can acknowledge a write", word, term.Plural(online, "replica")).
			Because("It issues nothing, because each number waits for the replicas.").
			Remedy("Start the others; or state fewer, with hilo prefix set --durable … --yes --redis URL, and promote none that was away before it is synchronized.")
	case all == stated:
		p.Add(checkStated, finding.OK, "it states %s, which is all of its replicas", word)
	case p.IsCluster():
		allOfThem(p.Add(checkStated, finding.Warning, "it states %s, and its shard has %d replicas", word, all).Because(promoted), "State all of them:")
	case !equal:
		allOfThem(p.Add(checkStated, finding.Fault, "it states %s of %d, and replica-priority is %s", word, all, strings.Join(priorities, ", ")).
			Because("By priority one that lacks the newest numbers is promoted, and they are issued twice."),
			"CONFIG SET replica-priority 100 at each, also in its configuration file; or")
	case len(unknown) > 0:
		p.Add(checkStated, finding.Unknown, "it states %s of %d, and the priority of %s is unknown: it did not answer", word, all, strings.Join(unknown, ", ")).
			Because(promoted).Remedy("Name the sentinels, with redis+sentinel://, or make sure that replica-priority is the same at each, and not 0.")
	default:
		p.Add(checkStated, finding.Note, "it states %s of %d, of equal replica-priority", word, all).
			Because("That is sound if a sentinel is beside each server, which cannot be seen, and one node at a time fails.")
	}
}
