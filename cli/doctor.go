package cli

import (
	"context"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/prefix"
)

// doctor examines servers: whether they keep what they are given, and whether what they give can meet.
type doctor struct {
	globals
	servers servers
	keys    prefix.Keys
	settle  time.Duration // within which what is written on one master would be seen on another
	most    int           // keys that are looked at on one server
}

// diagnosis is what it shows.
type diagnosis struct {
	Namespace string     `json:"namespace"`
	Servers   []examined `json:"servers"`
	findings
}

type examined struct {
	Server  string `json:"server,omitempty"`
	Address string `json:"address"`
}

func newDoctorCommand(env Env) *cli.Command {
	return command(&cli.Command{
		Name:      "doctor",
		Usage:     "examine servers for what could lose or repeat numbers",
		UsageText: "hilo doctor [--replicas N] [--fsync] [--redis NAME=URL …]",
		Description: describe(`
Examines one server, or several masters together: role and version, eviction,
persistence, replicas against what is to be waited for, whether scripts count exactly
and may use INFO, the namespace's keys, prefixes, and whether masters share their data.
Each finding says what, why it matters, and what to do. On a cluster each primary is
examined. Give it --replicas, --fsync and --require-seeded as your workers have them.

It writes to keys of its own, {NAME}/Doctor/…, and removes them. Where CONFIG is not
permitted INFO serves; where neither is, a finding says unknown.

--output json: namespace; servers [{server, address}]; `+aboutFindings,
			[]string{
				"hilo doctor --redis redis://cache.example:6379/0",
				"hilo doctor --fsync --redis north=redis://n:6379 --redis south=redis://s:6379",
			},
			"1 failed or interrupted", "3 no Redis available", "5 a fault was found"),
		Flags: serverFlags(),
		Action: func(c *cli.Context) error {
			if _, err := takeArguments(c); err != nil {
				return err
			}
			d := doctor{settle: time.Second, most: 10_000_000}
			var err error
			if d.globals, d.servers, err = readServers(c, env); err != nil {
				return err
			}
			d.keys = prefix.NewKeys(d.Namespace)
			return d.Run(c.Context)
		},
	})
}

func (d doctor) Run(ctx context.Context) error {
	return d.servers.use(ctx, d.Timeout, func(o opened) error {
		for _, client := range o.clients {
			client.AddHook(stepLimit(o.attempt(o.timeout)))
		}
		all, err := d.examine(ctx, o)
		if err != nil {
			return err
		}
		shown := diagnosis{Namespace: d.Namespace, findings: judged(all)}
		for _, t := range o.targets {
			shown.Servers = append(shown.Servers, examined{t.name, t.addr})
		}
		if d.JSON {
			err = d.writeJSON(shown)
		} else {
			err = shown.print(d.Stdout)
		}
		if err != nil {
			return err
		}
		return shown.verdict()
	})
}

// patient is one of the servers.
type patient struct {
	target
	client redis.UniversalClient
	nodes  []node // the primaries of a cluster; else one
	adds   serverAdds
	away   error // why nothing more is known of it
}

// examineOne is all checks of one server alone.
func (d doctor) examineOne(ctx context.Context, p *patient) []finding {
	want := wanted{d.servers.durability, d.servers.requireSeeded}
	var all []finding
	serves := true
	for _, n := range p.nodes {
		for _, check := range nodeChecks() {
			all = append(all, on(n.name, check(n, want))...)
		}
		role := n.info["role"]
		serves = serves && (role == "" || role == "master")
	}
	if serves {
		all = append(all, on(p.name, d.count(ctx, p))...)
	}
	return append(all, on(p.name, d.visit(ctx, p))...)
}

// examine is an error only when no server answers.
func (d doctor) examine(ctx context.Context, o opened) ([]finding, error) {
	var all []finding
	patients := make([]*patient, len(o.targets))
	away := make(map[string]error)
	for i, t := range o.targets {
		p := &patient{target: t, client: o.clients[i]}
		patients[i] = p
		if p.away = d.admit(ctx, p); p.away != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			away[t.name] = p.away
			what, remedy := t.diagnose(p.away, o.timeout)
			all = append(all, on(t.name, []finding{found("reach", levelFault, "%s", what).because("Nothing else is known of it.").
				remedy("%s%s.", strings.ToUpper(remedy[:1]), remedy[1:])})...)
			continue
		}
		all = append(all, d.examineOne(ctx, p)...)
	}
	if len(away) == len(patients) { // one: its error is made a sentence of by use
		if len(patients) == 1 {
			return nil, patients[0].away
		}
		return nil, &failure{code: exitUnavailable, text: o.blame(away), cause: patients[0].away}
	}
	all = append(all, d.examineTogether(ctx, patients)...)
	return all, ctx.Err()
}
