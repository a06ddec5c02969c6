package base

import (
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/cli/internal/target"
)

// The flags of all commands that allocate. Each has an environment variable, like the global flags.
const (
	flagPrefer         = "prefer"
	flagReplicas       = "replicas"
	flagFsync          = "fsync"
	flagDurableTimeout = "durable-timeout"
	flagRequireSeeded  = "require-seeded"
	flagRequirePrefix  = "require-prefix"
)

// AboutServers is a paragraph for the description of a command with ServerFlags.
const AboutServers = `

With several --redis NAME=URL, masters in order of preference and each with a prefix
or tag of its own, it goes on at the next where one fails. $HILO_PREFER, $HILO_REPLICAS
and so on stand in for the flags.`

// OneServerFlags returns own, followed by the flag with which Reader.Target chooses one of several servers.
func OneServerFlags(own ...cli.Flag) []cli.Flag {
	return append(own, &cli.GenericFlag{Name: flagPrefer, Usage: "of several servers use `NAME`", Value: Text("")})
}

const flagReplicasNone = "replicas-none"

// ReplicasNoneFlag returns the flag of commands whose writes replicas confirm.
func ReplicasNoneFlag() cli.Flag {
	return &cli.BoolFlag{Name: flagReplicasNone, Usage: "the server has no replicas, which it cannot say for want of INFO"}
}

// ServerFlags returns own, followed by the flags that Reader.Servers reads.
func ServerFlags(own ...cli.Flag) []cli.Flag {
	const maxReplicas = 1000
	return append(own,
		&cli.GenericFlag{Name: flagPrefer, Usage: "of several servers try `NAME` first", Value: Text("")},
		&cli.GenericFlag{Name: flagReplicas, Usage: "use only what `N` replicas have", Value: Number("0", 0, maxReplicas)},
		&cli.BoolFlag{Name: flagFsync, Usage: "use only what is on the server's disk (AOF)"},
		&cli.GenericFlag{
			Name: flagDurableTimeout, Usage: "wait `D` for either at most", DefaultText: "1s, with --fsync 3s",
			Value: Duration("", time.Millisecond),
		},
		&cli.BoolFlag{Name: flagRequireSeeded, Usage: "refuse to start a missing counter at 1"},
		&cli.BoolFlag{Name: flagRequirePrefix, Usage: "refuse a server without prefix, tag and interval"},
	)
}

// Servers returns the servers of a command that allocates, which has ServerFlags.
func (r *Reader) Servers() target.Servers {
	targets := r.Targets()
	if name, source := r.Text(flagPrefer); name != "" && r.Err == nil {
		r.prefer(targets, name, source)
	}
	durability, err := admin.Durability{
		Replicas: int(r.Number(flagReplicas)), Fsync: r.Switch(flagFsync), Timeout: r.Period(flagDurableTimeout),
	}.WithDefaults()
	r.Fail(err)
	return target.Servers{
		Targets: targets, Durability: allocator.Durability(durability),
		RequireSeeded: r.Switch(flagRequireSeeded), RequirePrefix: r.Switch(flagRequirePrefix),
	}
}

// prefer moves the server with a name to the front. Each of several has a name.
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
