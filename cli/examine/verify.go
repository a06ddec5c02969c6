package examine

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/target"
)

const (
	maxIDs         = 1_000_000_000
	maxWorkers     = 1000
	maxCollections = 10_000
)

// VerifyCommand returns hilo verify.
func VerifyCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "verify",
		Usage:     "check on your servers that no id is issued twice",
		UsageText: "hilo verify [--ids N] [--workers N] [--kill-workers]",
		Description: base.Describe(`
Starts worker processes that take identifiers with all calls of the library and report
each, parsed from its text. A bitmap per collection and prefix finds duplicates. Several
masters also issue values of an identity, all from one of them. Meanwhile you can kill,
pause, disconnect or promote your servers: verify reports outages. An id counts when its
worker has reported it; what a killed worker did not report counts as unused.

verify uses a namespace of its own, NAMESPACE-verify-…, with the prefixes and Durable of
yours, or temporary prefixes where several have none. Where a server lost its data it
makes these settings again. It removes its keys at the end; kill -9 leaves them.`+base.AboutServers,
			[]string{
				"hilo verify",
				"hilo verify --ids 100000000 --kill-workers --redis redis://cache.example",
				"hilo verify --rate 20000 --duration 5m \\\n     --redis north=redis://n.example --redis south=redis://s.example",
			},
			"1 failed, interrupted, or keys are left", "3 Redis unavailable, or no id for --give-up", "5 an identifier was issued twice"),
		Flags: base.ServerFlags(
			&cli.GenericFlag{Name: "ids", Usage: "take `N` identifiers, up to 1000000000", Value: base.Number("", 1, maxIDs), DefaultText: "1000000"},
			&cli.GenericFlag{Name: "workers", Usage: "`N` workers", Value: base.Number("8", 1, maxWorkers)},
			&cli.BoolFlag{Name: "goroutines", Usage: "run the workers as goroutines of one process"},
			&cli.GenericFlag{Name: "collections", Usage: "take from `N` collections in turn", Value: base.Number("1", 1, maxCollections)},
			&cli.GenericFlag{Name: "rate", Usage: "take `R` identifiers a second in all", Value: base.Number("", 1, base.MostRate), DefaultText: "full speed"},
			&cli.GenericFlag{Name: "duration", Usage: "end after `D`; without --ids, there is no other limit", Value: base.Duration("", 0)},
			&cli.BoolFlag{Name: "kill-workers", Usage: "kill -9 one of its workers 4 times a second"},
			&cli.GenericFlag{Name: "give-up", Usage: "end when no worker got an identifier for `D`", Value: base.Duration("1m", 0)},
			&cli.BoolFlag{Name: flagAsWorker, Hidden: true},
		),
		Action: base.Action(env, readVerify),
	}
}

// readVerify reads the flags of a trial or of one of its workers.
func readVerify(r *base.Reader) base.Runner {
	r.Arguments()
	if r.Bool(flagAsWorker) {
		return readWorker(r)
	}
	t := &trial{Session: r.Session(), servers: r.Servers(), settings: r.Settings()}
	standard := int64(1_000_000)
	if t.Duration = r.Period("duration"); t.Duration > 0 {
		standard = maxIDs
	}
	t.IDs = cmp.Or(r.Number("ids"), standard)
	t.Rate, t.GiveUp = r.Number("rate"), r.Period("give-up")
	t.Workers, t.Collections = int(r.Number("workers")), r.Collections(base.DefaultCollection)
	t.Goroutines, t.KillWorkers = r.Bool("goroutines"), r.Bool("kill-workers")
	if t.Goroutines && t.KillWorkers {
		r.Failf("--kill-workers needs processes, and goroutines cannot be killed: remove --goroutines")
	}
	return t
}

// scratch returns a unique namespace for a trial that begins with the user's namespace.
func scratch(namespace string) string {
	const maxBytes = 128
	suffix := "-verify-" + strings.ToLower(crand.Text()[:12])
	return strings.ToValidUTF8(namespace[:min(len(namespace), maxBytes-len(suffix))], "") + suffix
}

// Run runs the trial in a namespace of its own.
func (t *trial) Run(ctx context.Context) error {
	t.Base, t.Namespace = t.Namespace, scratch(t.Namespace)
	t.live = t.GoLive()
	return t.servers.Use(ctx, t.Timeout, func(o target.Opened) error { return t.try(ctx, o) })
}

// try runs the trial, and prints the result even if it ended early.
func (t *trial) try(ctx context.Context, o target.Opened) error {
	t.open(o)
	if err := t.prepare(ctx); err != nil {
		return err
	}
	if err := t.setUp(ctx); err != nil {
		return errors.Join(err, t.clean(ctx))
	}
	stop := t.watch(ctx)
	fmt.Fprintf(t.live, "namespace %s, removed at the end\n", t.Namespace)
	for _, m := range t.masters {
		if m.temporary {
			fmt.Fprintf(t.live, "%s has no prefix; in this namespace its prefix is %s\n", m.Label(), m.prefix.ServerPrefix)
		}
	}
	t.run(ctx)
	found := t.report(context.WithoutCancel(ctx))
	stop()
	left := t.clean(ctx)
	for _, m := range t.masters {
		found.Servers = append(found.Servers, server{m.Label(), m.prefix.ServerPrefix, m.prefix.NodeTag, m.prefix.Identities, m.temporary, m.left})
		found.Outages = append(found.Outages, m.outages...)
	}
	t.live.End()
	if found.IDs > 0 {
		if err := t.Show(found, func() error { return found.print(t.Session) }); err != nil {
			return err
		}
	}
	return t.verdict(left)
}
