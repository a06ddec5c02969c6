package base

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/cli/internal/target"
)

// The flags of all commands that allocate. Each has an environment variable, like the global flags.
const flagPrefer = "prefer"

// AboutServers is a paragraph for the description of a command with ServerFlags.
const AboutServers = `

With several --redis NAME=URL, masters in order of preference and each with a prefix
or tag of its own, it goes on at the next where one fails.`

// OneServerFlags returns own, followed by the flag with which Reader.Target chooses one of several servers.
func OneServerFlags(own ...cli.Flag) []cli.Flag {
	return append(own, &cli.GenericFlag{Name: flagPrefer, Usage: "of several servers use `NAME` first, or alone", Value: Text("")})
}

const flagReplicasNone = "replicas-none"

// ReplicasNoneFlag returns the flag of commands whose writes replicas confirm.
func ReplicasNoneFlag() cli.Flag {
	return &cli.BoolFlag{Name: flagReplicasNone, Usage: "the server has no replicas, for want of INFO"}
}

// ServerFlags returns own, followed by the flags that Reader.Servers reads.
func ServerFlags(own ...cli.Flag) []cli.Flag {
	return append(own, &cli.GenericFlag{Name: flagPrefer, Usage: "of several servers use `NAME` first, or alone", Value: Text("")})
}

// Servers returns the servers of a command that allocates, which has ServerFlags.
func (r *Reader) Servers() target.Servers {
	targets := r.Targets()
	if name, source := r.Text(flagPrefer); name != "" && r.Err == nil {
		r.prefer(targets, name, source)
	}
	return target.Servers{Targets: targets}
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
