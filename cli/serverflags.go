package cli

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/allocator"
)

// The flags of all commands that allocate. Each has an environment variable, as the global flags have.
const (
	flagPrefer         = "prefer"
	flagReplicas       = "replicas"
	flagFsync          = "fsync"
	flagDurableTimeout = "durable-timeout"
	flagRequireSeeded  = "require-seeded"
)

// aboutServers is for the description of a command that has serverFlags.
const aboutServers = `

With several --redis NAME=URL, masters in order of preference and each with a prefix
or tag of its own, it goes on at the next where one fails. $HILO_PREFER, $HILO_REPLICAS
and so on stand in for the flags.`

// serverFlags are for readServers; own are the command's.
func serverFlags(own ...cli.Flag) []cli.Flag {
	return append(own,
		&cli.StringFlag{Name: flagPrefer, Usage: "of several servers try `NAME` first"},
		&cli.StringFlag{Name: flagReplicas, Usage: "use only what `N` replicas have", Value: "0", DefaultText: "0"},
		&cli.BoolFlag{Name: flagFsync, Usage: "use only what is on the server's disk (AOF)", DisableDefaultText: true},
		&cli.StringFlag{Name: flagDurableTimeout, Usage: "wait `D` for either at most", Value: "1s", DefaultText: "1s"},
		&cli.BoolFlag{Name: flagRequireSeeded, Usage: "refuse to start a missing counter at 1", DisableDefaultText: true},
	)
}

// readServers reads the globals and the servers of a command that allocates, which has serverFlags.
func readServers(c *cli.Context, env Env) (globals, servers, error) {
	var s servers
	g, err := readGlobals(c, env)
	if err != nil {
		return g, s, err
	}
	if s.targets, err = readTargets(c, env); err != nil {
		return g, s, err
	}
	if name, source := setting(c, env, flagPrefer); name != "" {
		if err := prefer(s.targets, name, source); err != nil {
			return g, s, err
		}
	}
	if s.durability, err = readDurability(c, env); err != nil {
		return g, s, err
	}
	s.requireSeeded, err = switched(c, env, flagRequireSeeded)
	return g, s, err
}

// prefer puts the server of a name first.
func prefer(targets []target, name, source string) error {
	at := slices.IndexFunc(targets, func(t target) bool { return t.name == name })
	if at < 0 {
		var names []string
		for _, t := range targets {
			if t.name != "" {
				names = append(names, t.name)
			}
		}
		if names == nil {
			return usagef("%s is %q, and no server has a name: give it one, as in --redis %[2]s=redis://…", source, name)
		}
		return usagef("%s is %q: must be one of the servers that --redis names: %s", source, name, strings.Join(names, ", "))
	}
	preferred := targets[at]
	copy(targets[1:], targets[:at])
	targets[0] = preferred
	return nil
}

// readDurability reads what a range needs before it is used.
func readDurability(c *cli.Context, env Env) (allocator.Durability, error) {
	var d allocator.Durability
	const mostReplicas = 1000
	text, source := setting(c, env, flagReplicas)
	replicas, err := strconv.Atoi(text)
	if err != nil || replicas < 0 || replicas > mostReplicas {
		return d, usagef("%s is %q: must be a whole number, 0 to %d", source, text, mostReplicas)
	}
	d.Replicas = replicas
	if d.Fsync, err = switched(c, env, flagFsync); err != nil {
		return d, err
	}
	text, source = setting(c, env, flagDurableTimeout)
	if d.Timeout, err = time.ParseDuration(text); err != nil || d.Timeout < time.Millisecond {
		return d, usagef("%s is %q: must be a duration of 1ms or more, such as 1s", source, text)
	}
	return d, nil
}

// switched is setting for a flag that takes no value.
func switched(c *cli.Context, env Env, flag string) (bool, error) {
	if text, ok := env.lookup(variable(flag)); ok && text != "" && !c.IsSet(flag) {
		on, err := strconv.ParseBool(text)
		if err != nil {
			return false, usagef("%s is %q: must be true or false", variable(flag), text)
		}
		return on, nil
	}
	return c.Bool(flag), nil
}
