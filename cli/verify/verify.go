// Package verify has hilo verify: the proof, on servers of the user's, that no identifier is given twice. A trial hears what
// worker processes report over pipes and enters it in a ledger (package allocator/proof); a watcher for each server says
// when it went away. It exports its commands and nothing else, and may import the rooms under cli/internal and the library.
package verify

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/cli/internal/term"
)

// verify proves on servers of the user's that no identifier is given twice.
type verify struct {
	*base.Session
	servers     target.Servers
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
	screen      *term.Live
}

const (
	mostIDs         = 1_000_000_000
	mostWorkers     = 1000
	mostCollections = 10_000
	// progressEvery is how often a line of progress is written where there is no terminal.
	progressEvery = 5 * time.Second
)

// Command is hilo verify.
func Command(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "verify",
		Usage:     "prove on your servers that no identifier is given twice",
		UsageText: "hilo verify [--ids N] [--workers N] [--kill-workers]",
		Description: base.Describe(`
Has worker processes, each with an allocator of its own, take identifiers with
all calls of the library (Next, AppendNext, TryNext, NextID, Take) and report
every one, read back from its text. A bitmap per collection and prefix finds
each that was given before. Of several masters they take an identity as well,
whose values all come from one of them. Meanwhile kill, pause, cut off or promote a server
of yours: verify says when one went away and came back.

An id counts when its worker has reported it: after 4096 at the latest, and
before it waits for a server. What a killed worker took and did not report
counts as never given.

It works in a namespace of its own, NAMESPACE-verify-…, with the prefixes that
the servers have in yours, or temporary ones where several have none; and
removes its keys at the end, also after an error or Ctrl-C. kill -9 leaves them.`+base.AboutServers,
			[]string{
				"hilo verify",
				"hilo verify --ids 100000000 --kill-workers --redis redis://cache.example",
				"hilo verify --rate 20000 --duration 5m \\\n     --redis north=redis://n.example --redis south=redis://s.example",
			},
			"1 failed, interrupted, or keys are left", "3 Redis unavailable, or no id for --give-up", "4 refused by a rule", "5 an identifier was given twice"),
		Flags: base.ServerFlags(
			&cli.StringFlag{Name: "ids", Usage: "take `N` identifiers, up to 1000000000", DefaultText: "1000000"},
			&cli.StringFlag{Name: "workers", Usage: "`N` workers", Value: "8"},
			&cli.BoolFlag{Name: "processes", Usage: "each worker is a process, as without this"},
			&cli.BoolFlag{Name: "goroutines", Usage: "the workers are goroutines of one process"},
			&cli.StringFlag{Name: "collections", Usage: "take from `N` collections in turn", Value: "1"},
			&cli.StringFlag{Name: "rate", Usage: "take `R` identifiers a second in all", DefaultText: "full speed"},
			&cli.StringFlag{Name: "duration", Usage: "end after `D`; without --ids, no matter how many"},
			&cli.BoolFlag{Name: "kill-workers", Usage: "kill -9 one of its workers 4 times a second"},
			&cli.StringFlag{Name: "give-up", Usage: "end when no worker got an identifier for `D`", Value: "1m"},
			&cli.BoolFlag{Name: flagAsWorker, Hidden: true},
		),
		Action: base.Action(env, readVerify),
	}
}

// readVerify reads all flags: of a proof, or of a worker of one.
func readVerify(r *base.Reader) base.Runner {
	r.Arguments()
	if r.Bool(flagAsWorker) {
		return readWorker(r)
	}
	v := verify{Session: r.Session(), servers: r.Servers(), settings: r.Settings()}
	standard := int64(1_000_000)
	if v.Duration = r.Period("duration", 0); v.Duration > 0 {
		standard = mostIDs
	}
	v.IDs = cmp.Or(r.Number("ids", 1, mostIDs), standard)
	v.Rate, v.GiveUp = r.Number("rate", 1, base.MostRate), r.Period("give-up", 0)
	v.Workers, v.Collections = int(r.Number("workers", 1, mostWorkers)), r.Collections(base.DefaultCollection, mostCollections)
	v.Goroutines, v.KillWorkers = r.Bool("goroutines"), r.Bool("kill-workers")
	switch {
	case v.Goroutines && r.Bool("processes"):
		r.Failf("--processes and --goroutines exclude each other: leave one of them out")
	case v.Goroutines && v.KillWorkers:
		r.Failf("--kill-workers takes processes, and goroutines cannot be killed: leave out --goroutines")
	}
	return v
}

// scratch is a namespace of the proof's own: the user's, what it is for, and something random.
func scratch(namespace string) string {
	const most = 128 // bytes of a namespace
	suffix := "-verify-" + strings.ToLower(crand.Text()[:12])
	return strings.ToValidUTF8(namespace[:min(len(namespace), most-len(suffix))], "") + suffix
}

// Run shows what was proven, be it all or not.
func (v verify) Run(ctx context.Context) error {
	v.Base, v.Namespace = v.Namespace, scratch(v.Namespace)
	v.screen = term.NewLive(v.Stderr, progressEvery)
	v.Stderr, v.Log = v.screen, base.NewLogger(v.screen, v.Log.Level())
	return v.servers.Use(ctx, v.Timeout, func(o target.Opened) error {
		v.servers = o.Servers // as workers of other processes reach them
		v.settings[base.Variable(base.FlagRedis)] = listedURLs(o.Targets)
		v.settings[base.Variable(base.FlagNamespace)] = v.Namespace
		return v.prove(ctx, o)
	})
}

// listedURLs are the URLs of the targets, as $HILO_REDIS_URL has them.
func listedURLs(targets []target.Target) string {
	var urls []string
	for _, t := range targets {
		url := strings.ReplaceAll(t.URL, " ", "%20")
		if t.Name != "" {
			url = t.Name + "=" + url
		}
		urls = append(urls, url)
	}
	return strings.Join(urls, " ")
}

func (v verify) prove(ctx context.Context, o target.Opened) error {
	t := newTrial(v, o)
	if err := t.prepare(ctx); err != nil {
		return err
	}
	if err := t.settle(ctx); err != nil {
		return errors.Join(err, t.clean(ctx))
	}
	stop := t.watch(ctx)
	fmt.Fprintf(v.screen, "namespace %s, removed at the end\n", v.Namespace)
	for _, m := range t.masters {
		if m.temporary {
			fmt.Fprintf(v.screen, "%s has no prefix; in this namespace it has %s\n", m.name, m.adds.ServerPrefix)
		}
	}
	t.run(ctx)
	found := t.found(context.WithoutCancel(ctx))
	stop()
	left := t.clean(ctx)
	for _, m := range t.masters {
		found.Servers = append(found.Servers, server{m.name, m.adds.ServerPrefix, m.adds.NodeTag, m.adds.Identities, m.temporary, m.left})
		found.Outages = append(found.Outages, m.outages...)
	}
	v.screen.End()
	if found.IDs > 0 {
		if err := v.Show(found, func() error { return v.print(found) }); err != nil {
			return err
		}
	}
	return t.verdict(left)
}
