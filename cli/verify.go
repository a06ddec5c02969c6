package cli

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/prefix"
)

// verify proves on servers of the user's that no identifier is given twice.
type verify struct {
	globals
	servers     servers
	settings    map[string]string // of worker processes, as environment variables
	Base        string            // the user's namespace; Namespace is the proof's own
	IDs         int64
	Workers     int
	Goroutines  bool // and not processes
	Collections []string
	Rate        int64         // identifiers a second in all; 0: as many as there can be
	Duration    time.Duration // 0: no matter how long
	GiveUp      time.Duration
	KillWorkers bool
	screen      *screen
}

const (
	mostProofIDs         = 1_000_000_000
	mostProofWorkers     = 1000
	mostProofCollections = 10_000
	// proofSuffix stands between the user's namespace and something random.
	proofSuffix = "-verify-"
	// progressEvery is how often a line of progress is written where there is no terminal.
	progressEvery = 5 * time.Second
)

func newVerifyCommand(env Env) *cli.Command {
	return command(&cli.Command{
		Name:      "verify",
		Usage:     "prove on your servers that no identifier is given twice",
		UsageText: "hilo verify [--ids N] [--workers N] [--kill-workers]",
		Description: describe(`
Has worker processes, each with an allocator of its own, take identifiers with
all calls of the library (Next, AppendNext, TryNext, NextID, Take) and report
every one, read back from its text. A bitmap per collection and prefix finds
each that was given before. Meanwhile kill, pause, cut off or promote a server
of yours: verify says when one went away and came back.

An id counts when its worker has reported it: after 4096 at the latest, and
before it waits for a server. What a killed worker took and did not report
counts as never given.

It works in a namespace of its own, NAMESPACE-verify-…, with the prefixes that
the servers have in yours, or temporary ones where several have none; and
removes its keys at the end, also after an error or Ctrl-C. kill -9 leaves them.`+aboutServers,
			[]string{
				"hilo verify",
				"hilo verify --ids 100000000 --kill-workers --redis redis://cache.example",
				"hilo verify --rate 20000 --duration 5m \\\n     --redis north=redis://n.example --redis south=redis://s.example",
			},
			"1 failed, interrupted, or keys are left", "3 Redis unavailable, or no id for --give-up", "4 refused by a rule", "5 an identifier was given twice"),
		Flags: serverFlags(
			&cli.StringFlag{Name: "ids", Usage: "take `N` identifiers, up to 1000000000", DefaultText: "1000000"},
			newBenchNumber("workers", "`N` workers", "8"),
			&cli.BoolFlag{Name: "processes", Usage: "each worker is a process, as without this", DisableDefaultText: true},
			&cli.BoolFlag{Name: "goroutines", Usage: "the workers are goroutines of one process", DisableDefaultText: true},
			newBenchNumber("collections", "take from `N` collections in turn", "1"),
			&cli.StringFlag{Name: "rate", Usage: "take `R` identifiers a second in all", DefaultText: "full speed"},
			&cli.StringFlag{Name: "duration", Usage: "end after `D`; without --ids, no matter how many"},
			&cli.BoolFlag{Name: "kill-workers", Usage: "kill -9 one of its workers 4 times a second", DisableDefaultText: true},
			&cli.StringFlag{Name: "give-up", Usage: "end when no worker got an identifier for `D`", Value: "1m", DefaultText: "1m"},
			&cli.BoolFlag{Name: flagAsWorker, Hidden: true},
		),
		Action: func(c *cli.Context) error {
			if _, err := takeArguments(c); err != nil {
				return err
			}
			if c.Bool(flagAsWorker) {
				return runProofWorker(c, env)
			}
			v := verify{}
			var err error
			if v.globals, v.servers, err = readServers(c, env); err != nil {
				return err
			}
			if v, err = v.withFlags(c); err != nil {
				return err
			}
			if v.settings, err = readSettings(c, env); err != nil {
				return err
			}
			return v.Run(c.Context)
		},
	})
}

// withFlags is v with what is the command's own.
func (v verify) withFlags(c *cli.Context) (verify, error) {
	v.IDs = 1_000_000
	var err error
	if c.IsSet("duration") {
		v.IDs = mostProofIDs
		if v.Duration, err = parseDuration("duration", c.String("duration")); err != nil {
			return v, err
		}
	}
	if c.IsSet("ids") {
		if v.IDs, err = parseUpTo("ids", c.String("ids"), mostProofIDs); err != nil {
			return v, err
		}
	}
	if c.IsSet("rate") {
		if v.Rate, err = parseUpTo("rate", c.String("rate"), mostRate); err != nil {
			return v, err
		}
	}
	if v.GiveUp, err = parseDuration("give-up", c.String("give-up")); err != nil {
		return v, err
	}
	workers, err := parseUpTo("workers", c.String("workers"), mostProofWorkers)
	if err != nil {
		return v, err
	}
	collections, err := parseUpTo("collections", c.String("collections"), mostProofCollections)
	if err != nil {
		return v, err
	}
	v.Workers, v.Collections = int(workers), numbered(defaultCollection, int(collections))
	v.Goroutines, v.KillWorkers = c.Bool("goroutines"), c.Bool("kill-workers")
	switch {
	case v.Goroutines && c.Bool("processes"):
		return v, usagef("--processes and --goroutines exclude each other: leave one of them out")
	case v.Goroutines && v.KillWorkers:
		return v, usagef("--kill-workers takes processes, and goroutines cannot be killed: leave out --goroutines")
	}
	return v, nil
}

// within gives the proof a namespace of its own, that shows where it comes from.
func (v verify) within() verify {
	const most = 128 // bytes of a namespace
	v.Base = v.Namespace
	suffix := proofSuffix + strings.ToLower(crand.Text()[:12])
	v.Namespace = strings.ToValidUTF8(v.Base[:min(len(v.Base), most-len(suffix))], "") + suffix
	return v
}

// Run shows what was proven, be it all or not.
func (v verify) Run(ctx context.Context) error {
	v = v.within()
	v.screen = newScreen(v.Stderr, progressEvery)
	v.Stderr, v.Log = v.screen, newLogger(v.screen, v.Log.Level())
	hosted, closeAll, err := v.servers.host()
	if err != nil {
		return err
	}
	defer closeAll()
	v.servers = hosted
	if v.settings != nil {
		v.settings[variable(flagRedis)] = listedURLs(hosted.targets)
		v.settings[variable(flagNamespace)] = v.Namespace
	}
	return hosted.use(ctx, v.Timeout, func(o opened) error { return v.prove(ctx, o) })
}

func (v verify) prove(ctx context.Context, o opened) error {
	all, err := v.prepare(ctx, o)
	if err != nil {
		return err
	}
	t := &trial{verify: v}
	if err := v.settle(ctx, o, all); err != nil {
		return errors.Join(err, v.clean(ctx, o, all))
	}
	stop := t.watch(ctx, o, all)
	v.introduce(all)
	t.run(ctx)
	counters := v.counters(context.WithoutCancel(ctx), o)
	stop()
	left := v.clean(ctx, o, all)
	v.screen.end()
	if t.judge.ids > 0 {
		if err := v.show(t.found(all, counters)); err != nil {
			return err
		}
	}
	return t.verdict(left)
}

// watch has all servers watched, as they are now, until stop is called.
func (t *trial) watch(ctx context.Context, o opened, all []proofServer) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var watching sync.WaitGroup
	for i, target := range o.targets {
		w := &watcher{target: target, client: o.clients[i], screen: t.screen}
		w.key, w.adds, w.admin = prefix.NewKeys(t.Namespace).Server(), all[i].adds(), t.admin(o, i)
		t.watchers = append(t.watchers, w)
		w.look(ctx)
		watching.Go(func() { w.watch(ctx) })
	}
	return func() { cancel(); watching.Wait() }
}

// introduce says what is going to be written, and where.
func (v verify) introduce(all []proofServer) {
	fmt.Fprintf(v.screen, "namespace %s, removed at the end\n", v.Namespace)
	for _, s := range all {
		if s.Temporary {
			fmt.Fprintf(v.screen, "%s has no prefix; in this namespace it has %s\n", s.Name, s.Prefix)
		}
	}
}

// verdict is why the proof failed: what was given twice before anything else.
func (t *trial) verdict(left error) error {
	err := after(t.err, t.judge.ids)
	if t.judge.again > 0 {
		err = &failure{code: exitFault, cause: err,
			text: fmt.Sprintf("%s of %d had been given before", ids(t.judge.again), t.judge.ids)}
	}
	switch {
	case left == nil:
		return err
	case err == nil:
		return &failure{code: exitFailed, text: left.Error(), cause: left}
	}
	return &failure{code: exitCode(err), text: plain(err) + remedy(err) + "; " + left.Error()} // no cause, whose remedy would be said again
}
