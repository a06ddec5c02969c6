// Package doctor has hilo doctor: checks of servers for what could lose or repeat numbers. Those of one node are functions
// of what it says of itself, without I/O; the others try things out at keys of their own. It exports its commands and
// nothing else, and may import the rooms under cli/internal and the library.
package doctor

import (
	"cmp"
	"context"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/urfave/cli/v3"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/finding"
	"github.com/hilo-id/hilo/cli/internal/target"
)

// doctor examines servers: whether they keep what they are given, and whether what they give can meet.
type doctor struct {
	*base.Session
	servers target.Servers
	most    int // keys that are looked at on one server
}

// diagnosis is what it shows.
type diagnosis struct {
	Namespace string     `json:"namespace"`
	Servers   []examined `json:"servers"`
	finding.All
}

type examined struct {
	Server  string `json:"server,omitempty"`
	Address string `json:"address"`
}

// Command is hilo doctor.
func Command(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "doctor",
		Usage:     "examine servers for what could lose or repeat numbers",
		UsageText: "hilo doctor [--replicas N] [--fsync] [--redis NAME=URL …]",
		Description: base.Describe(`
Examines one server, or several masters together: role and version, eviction,
persistence, replicas against what is to be waited for, whether scripts count exactly
and may use INFO, the namespace's keys, prefixes, the home of identities, and whether
masters share their data.
Each finding says what, why it matters, and what to do. On a cluster each primary is
examined. Give it --replicas, --fsync, --require-seeded and --require-prefix as your workers
have them.

It writes to keys of its own, {NAME}/Doctor/…, and removes them. Where CONFIG is not
permitted INFO serves; where neither is, a finding says unknown.

--output json: namespace; servers [{server, address}]; `+finding.About,
			[]string{
				"hilo doctor --redis redis://cache.example:6379/0",
				"hilo doctor --fsync --redis north=redis://n:6379 --redis south=redis://s:6379",
			},
			"1 failed or interrupted", "3 no Redis available", "5 a fault was found"),
		Flags: base.ServerFlags(),
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			r.Arguments()
			return doctor{Session: r.Session(), servers: r.Servers(), most: 10_000_000}
		}),
	}
}

func (d doctor) Run(ctx context.Context) error {
	return d.servers.Use(ctx, d.Timeout, func(o target.Opened) error {
		shown, err := d.examine(ctx, o)
		if err != nil {
			return err
		}
		return cmp.Or(d.Show(shown, func() error { return shown.Print(d.Stdout) }), shown.Verdict())
	})
}

// patient is one of the servers, and the sheet of what is found there.
type patient struct {
	doctor
	target.Target
	finding.Sheet
	client    redis.UniversalClient
	admin     *allocator.Admin
	nodes     []*node // the primaries of a cluster; else one
	adds      finding.Adds
	unguarded bool // scripts may not use INFO
}

// examine is all checks of one server alone.
func (p *patient) examine(ctx context.Context) {
	want := wanted{p.servers, p.adds}
	serves := true
	for _, n := range p.nodes {
		for _, check := range nodeChecks {
			check(n, want)
		}
		p.Findings = append(p.Findings, n.Findings...)
		role := n.info["role"]
		serves = serves && (role == "" || role == "master")
	}
	if serves {
		p.count(ctx)
	}
	p.visit(ctx)
}

// examine is an error only when no server answers.
func (d doctor) examine(ctx context.Context, o target.Opened) (diagnosis, error) {
	shown := diagnosis{Namespace: d.Namespace}
	var patients, there []*patient
	var adds []finding.Adds
	away := make(map[string]error)
	for i, t := range o.Targets {
		p := &patient{doctor: d, Target: t, Sheet: finding.Sheet{Server: t.Name}, client: o.Clients[i]}
		patients = append(patients, p)
		p.client.AddHook(base.StepLimit(o.Durability.Bound(o.Timeout)))
		shown.Servers = append(shown.Servers, examined{t.Name, t.Addr})
		if err := p.admit(ctx); err == nil {
			p.examine(ctx)
			there = append(there, p)
		} else if ctx.Err() != nil {
			return shown, ctx.Err()
		} else {
			away[t.Name], p.adds = err, finding.Adds{Name: t.Name, Err: err}
			what, remedy := t.Diagnose(err, o.Timeout)
			p.Add("reach", finding.Fault, "%s", what).Because("Nothing else is known of it.").Remedy("%s%s.", strings.ToUpper(remedy[:1]), remedy[1:])
		}
		adds = append(adds, p.adds)
	}
	switch {
	case len(there) > 0:
	case len(o.Targets) == 1: // its error is made a sentence of by Use
		return shown, away[o.Targets[0].Name]
	default:
		return shown, &exit.Error{Code: exit.Unavailable, Text: o.Blame(away)}
	}
	together := finding.Sheet{Findings: finding.ComparePrefixes(adds)}
	if len(o.Targets) > 1 {
		checkSharing(ctx, there, &together)
	}
	var all []finding.Finding
	for _, p := range patients {
		all = append(all, p.Findings...)
	}
	shown.All = finding.Of(append(all, together.Findings...))
	return shown, ctx.Err()
}
