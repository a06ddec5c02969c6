package examine

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/finding"
	"github.com/hilo-id/hilo/prefix"
)

const (
	checkDurable  = "durable"
	checkSettings = "settings"
)

// checkDurableServer compares Durable, as the server's settings have it, with the configuration and the replicas of the server.
func (p *probedServer) checkDurableServer(ctx context.Context) {
	stated, holder := p.reported.Settings.Durable, p.holder(ctx)
	possible := prefix.DurableEverysec
	if holder != nil && holder.config["appendfsync"] == prefix.DurableAlways {
		possible = prefix.DurableAlways
	}
	if stated != "" {
		possible = stated
	}
	err, what := p.admin.CheckDurable(ctx, possible), ""
	if err != nil {
		_, what, _ = strings.Cut(exit.Plain(err), ": ")
	}
	switch {
	case stated != "" && err == nil && holder != nil && len(holder.watched) > 0: // which do not follow it at the moment
		p.Add(checkDurable, finding.Fault, "its settings say Durable %s, which is not true: its sentinels know replicas", stated).
			Because("One that is promoted issues numbers again that it did not receive.").
			Remedy("hilo settings set --durable none --redis URL, or make the sentinels forget the replicas: SENTINEL RESET.")
	case stated != "" && err == nil:
		p.Add(checkDurable, finding.OK, "its settings say Durable %s, and its configuration agrees", stated)
	case stated != "" && errors.Is(err, admin.ErrNotDurableServer):
		p.Add(checkDurable, finding.Fault, "its settings say Durable %s, which is not true: %s", stated, what).
			Because("Either it issues nothing above what is known to be on disk, or a crash can make it issue numbers again.").
			Remedy("Change that, or remove Durable: hilo settings set --durable none --redis URL.")
	case stated != "":
		p.Add(checkDurable, finding.Unknown, "its settings say Durable %s, which could not be checked: %s", stated, what).
			Because("If it is not true, a crash can make it issue numbers again.").
			Remedy("Compare appendonly, appendfsync and no-appendfsync-on-rewrite by hand.")
	case !p.initialized: // hilo init looks at the same
	case holder == nil || holder.facts().AppendOnly() != "yes" || len(holder.replicas)+len(holder.watched) > 0 || p.IsCluster():
	default:
		first := ""
		if err != nil {
			first = "First: " + what + ". "
		}
		p.Add(checkDurable, finding.Note, "it has an append-only file and no replica, and its settings do not say Durable").
			Because("Each restart skips 65,536 to 4.3 million numbers of each counter; with Durable fewer than 200, where little is issued.").
			Remedy("%sIf no replica and no copy of its data is ever started in its place: hilo settings set --durable %s --redis URL.", first, possible)
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

// checkInitialized reports a server without settings. Only a person can tell whether it is new or lost its data. counters is the
// number of its counters, below 0 if that is unknown.
func (p *probedServer) checkInitialized(counters int) {
	const ways = "If it is new: hilo init --redis URL. If it lost its data: hilo help recover."
	switch {
	case p.initialized && p.reported.Settings.SeededOnly:
		p.Add(checkSettings, finding.Note, "it makes no counters (NewCounters is no)").
			Because("A new collection is refused until it is seeded: hilo seed NAME --max 0.")
	case p.initialized:
	case counters > 0:
		p.Add(checkSettings, finding.Fault, "it has counters and no settings").
			Because("Its settings were deleted, or it lost its data and running workers continue its counters, or hilo 0.1 made it. It refuses new collections.").
			Remedy("If it lost its data: hilo help recover. Otherwise: hilo init --yes --redis URL, with the prefix, tag and interval that it had.")
	case counters == 0:
		p.Add(checkSettings, finding.Fault, "it has neither settings nor counters: it is new, or it lost its data").
			Because("It issues nothing until a person says which.").Remedy(ways)
	default:
		p.Add(checkSettings, finding.Fault, "it has no settings: it is new, or it lost its data").Because("It refuses new collections.").Remedy(ways)
	}
}
