package base

import (
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/target"
)

// The flags of all commands that allocate. Each has an environment variable, as the global flags have.
const (
	flagPrefer         = "prefer"
	flagReplicas       = "replicas"
	flagFsync          = "fsync"
	flagDurableTimeout = "durable-timeout"
	flagRequireSeeded  = "require-seeded"
	flagRequirePrefix  = "require-prefix"
)

// AboutServers is for the description of a command that has ServerFlags.
const AboutServers = `

With several --redis NAME=URL, masters in order of preference and each with a prefix
or tag of its own, it goes on at the next where one fails. $HILO_PREFER, $HILO_REPLICAS
and so on stand in for the flags.`

// ServerFlags are for Reader.Servers; own are the command's.
func ServerFlags(own ...cli.Flag) []cli.Flag {
	return append(own,
		&cli.StringFlag{Name: flagPrefer, Usage: "of several servers try `NAME` first"},
		&cli.StringFlag{Name: flagReplicas, Usage: "use only what `N` replicas have", Value: "0"},
		&cli.BoolFlag{Name: flagFsync, Usage: "use only what is on the server's disk (AOF)"},
		&cli.StringFlag{Name: flagDurableTimeout, Usage: "wait `D` for either at most", DefaultText: "1s, with --fsync 3s"},
		&cli.BoolFlag{Name: flagRequireSeeded, Usage: "refuse to start a missing counter at 1"},
		&cli.BoolFlag{Name: flagRequirePrefix, Usage: "refuse a server without prefix and tag"},
	)
}

// Servers are those of a command that allocates, which has ServerFlags.
func (r *Reader) Servers() target.Servers {
	const mostReplicas = 1000
	targets := r.Targets()
	if name, source := r.Text(flagPrefer); name != "" && r.Err == nil {
		r.prefer(targets, name, source)
	}
	durability, err := allocator.Durability{
		Replicas: int(r.Number(flagReplicas, 0, mostReplicas)), Fsync: r.Switch(flagFsync), Timeout: r.Period(flagDurableTimeout, time.Millisecond),
	}.WithDefaults()
	r.Fail(err)
	return target.Servers{
		Targets: targets, Durability: durability,
		RequireSeeded: r.Switch(flagRequireSeeded), RequirePrefix: r.Switch(flagRequirePrefix),
	}
}

// prefer puts the server of a name first. Of several each has one.
func (r *Reader) prefer(targets []target.Target, name, source string) {
	var names []string
	for i, t := range targets {
		if t.Name == name {
			copy(targets[1:], targets[:i])
			targets[0] = t
			return
		}
		names = append(names, t.Name)
	}
	if names[0] == "" {
		r.Failf("%s is %q, and no server has a name: give it one, as in --redis %[2]s=redis://…", source, name)
	}
	r.Failf("%s is %q: must be one of the servers that --redis names: %s", source, name, strings.Join(names, ", "))
}
