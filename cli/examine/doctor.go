// Package examine implements the commands that test servers. doctor checks a deployment for what could lose or repeat numbers,
// verify proves that no identifier is issued twice, and bench measures rate, round trips and latency.
//
// The doctor's checks of a node are functions of its INFO and CONFIG and do no I/O. Its other checks write to keys of their
// own. A trial of verify records in a ledger (package allocator/proof) what its worker processes report over pipes, while one
// goroutine per server records outages.
package examine

import (
	"cmp"
	"context"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/finding"
	"github.com/hilo-id/hilo/cli/internal/target"
)

// doctor examines whether servers can lose writes, and whether two of them can issue the same identifier.
type doctor struct {
	*base.Session
	servers target.Servers
	maxKeys int // limits the scan of one server
}

// diagnosis is the result of hilo doctor.
type diagnosis struct {
	Namespace string     `json:"namespace"`
	Servers   []examined `json:"servers"`
	finding.All
}

type examined struct {
	Server  string `json:"server,omitempty"`
	Address string `json:"address"`
}

// DoctorCommand returns hilo doctor.
func DoctorCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "doctor",
		Usage:     "examine servers for what could lose or repeat ids",
		UsageText: "hilo doctor [--redis NAME=URL …]",
		Description: base.Describe(`
Examines one server, or several masters together: whether its address leads to one
server alone, role and version, eviction, persistence, replicas, whether the server has
settings, whether Durable is true, whether scripts count exactly and may use INFO, whether
a key or a field of the namespace expires, corrupt counters, counters that look lost and
restarted, prefixes, intervals, the home of identities, and whether masters share their
data. A server without settings is new or lost its data, and is a fault until a person
says which.
Each finding states the fact, why it matters, and what to do. On a cluster each primary is
examined.

It writes to keys of its own, {NAME}/Doctor/…, and removes them. Where CONFIG is not
permitted INFO is used; where neither is, the finding is unknown.`,
			[]string{
				"hilo doctor --redis redis://cache.example:6379/0",
				"hilo doctor --redis north=redis://n:6379 --redis south=redis://s:6379",
			},
			"1 failed or interrupted", "3 no Redis available", "5 a fault was found"),
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			r.Arguments()
			return doctor{Session: r.Session(), servers: r.Servers(), maxKeys: 10_000_000}
		}),
	}
}

// Run prints the diagnosis. It returns an error if there is a fault.
func (d doctor) Run(ctx context.Context) error {
	return d.servers.Use(ctx, d.Timeout, func(o target.Opened) error {
		shown, err := d.examine(ctx, o)
		if err != nil {
			return err
		}
		return cmp.Or(d.Show(shown, func() error { return shown.Print(d.Stdout, d.Style(d.Stdout)) }), shown.Verdict())
	})
}

// probedServer is one of the servers, with the findings about it.
type probedServer struct {
	doctor
	target.Target
	finding.Sheet
	client      *target.Client
	own         redis.Cmdable // for keys of the doctor's own
	admin       *admin.Admin
	nodes       []*node // the primaries of a cluster, or the only node
	reported    finding.Server
	initialized bool // it has settings
	unguarded   bool // scripts may not use INFO
}

// examine runs the checks that concern this server alone.
func (p *probedServer) examine(ctx context.Context) {
	writable := true
	for _, n := range p.nodes {
		for _, check := range nodeChecks {
			check(n)
		}
		p.Findings = append(p.Findings, n.Findings...)
		role := n.info["role"]
		writable = writable && (role == "" || role == "master")
	}
	if writable {
		p.checkScripts(ctx)
	}
	p.checkKeys(ctx)
	if writable {
		p.checkDurableServer(ctx)
	}
}

// examine runs all checks. It returns an error only if no server answers.
func (d doctor) examine(ctx context.Context, o target.Opened) (diagnosis, error) {
	shown := diagnosis{Namespace: d.Namespace}
	var probed, reachable []*probedServer
	var servers []finding.Server
	unreachable := make(map[string]error)
	for i, t := range o.Targets {
		p := &probedServer{doctor: d, Target: t, Sheet: finding.Sheet{Server: t.Name}, client: o.Clients[i], own: o.Clients[i].Redis}
		probed = append(probed, p)
		p.client.Limit(o.Timeout)
		shown.Servers = append(shown.Servers, examined{t.Name, t.Addr})
		if err := p.connect(ctx); err == nil {
			p.examine(ctx)
			reachable = append(reachable, p)
		} else if ctx.Err() != nil {
			return shown, ctx.Err()
		} else {
			unreachable[t.Name], p.reported = err, finding.Server{Name: t.Name, Err: err}
			what, remedy := t.Diagnose(err, o.Timeout)
			p.Add("reach", finding.Fault, "%s", what).Because("Nothing else could be checked.").Remedy("%s%s.", strings.ToUpper(remedy[:1]), remedy[1:])
		}
		servers = append(servers, p.reported)
	}
	switch {
	case len(reachable) > 0:
	case len(o.Targets) == 1: // Use explains the error
		return shown, unreachable[o.Targets[0].Name]
	default:
		return shown, &exit.Error{Code: exit.Unavailable, Text: o.Blame(unreachable)}
	}
	shared := finding.Sheet{Findings: finding.ComparePrefixes(servers)}
	if len(o.Targets) > 1 {
		checkSharing(ctx, reachable, &shared)
	}
	var all []finding.Finding
	for _, p := range probed {
		all = append(all, p.Findings...)
	}
	shown.All = finding.Of(append(all, shared.Findings...))
	return shown, ctx.Err()
}
