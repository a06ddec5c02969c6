// Package run implements the commands that run until they are stopped. worker takes identifiers as a program of a fleet does
// and exposes metrics. serve issues identifiers over HTTP to programs in any language and to RavenDB's own
// clients. probe checks the health of either.
package run

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/cli/internal/term"
	"github.com/hilo-id/hilo/prefix"
)

// worker takes identifiers as a program of a fleet does. It runs once.
type worker struct {
	*base.Session
	servers     target.Servers
	Collections []string
	Rate        int64 // identifiers per second in total; 0 means full speed
	Goroutines  int
	Count       int64         // identifiers in total; 0 means no limit
	Duration    time.Duration // 0 means no limit
	MetricsAddr string        // "" means no metrics

	name     string // unique to this process
	ids      *allocator.Allocator
	live     *term.Live
	closing  atomic.Bool
	taken    atomic.Int64      // identifiers
	failures atomic.Int64      // failed calls of the allocator
	outage   *alarm            // no server is available
	refusals map[string]*alarm // the state of a collection is refused

	mu       sync.Mutex
	byPrefix map[prefix.Server]int64 // number of identifiers, guarded by mu
}

// showEvery is the interval between updates of the live line.
const showEvery = 100 * time.Millisecond

// WorkerCommand returns hilo worker.
func WorkerCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "worker",
		Usage:     "take ids at a rate, as a worker of a fleet",
		UsageText: "hilo worker COLLECTION... [--rate R] [--metrics-addr ADDR]",
		Description: base.Describe(`
Takes identifiers of the collections in turn until SIGTERM or Ctrl-C. Then it returns
unused ranges, and prints a summary. A second signal kills it. A collection that is
refused is retried, and does not delay the others. hilo verify proves that no identifier
is issued twice.

worker needs no server to start: while no server issues ids, it warns and retries. It
ends by itself only with --count or --duration, or when a collection is exhausted or has
the name of an identity.

--metrics-addr serves /metrics for Prometheus, /healthz, and /readyz, which is 200 when
numbers are in hand or a server is up.

For containers each flag has a variable, $HILO_WORKER_RATE and so on, and so have the
collections: $HILO_WORKER_COLLECTIONS, separated by white space.`+base.AboutServers,
			[]string{
				"hilo worker orders --rate 1000",
				"hilo worker orders users --metrics-addr :9090",
				"hilo worker orders --rate max --count 1000000 --redis embedded:",
			},
			"1 failed", "4 exhausted, or the name of an identity"),
		Flags: base.ServerFlags(
			&cli.GenericFlag{Name: "rate", Usage: "take `R` identifiers a second in all; 0 or max is full speed", Value: base.Number("100", 0, base.MostRate).Or("max")},
			&cli.GenericFlag{Name: "goroutines", Usage: "take them on `N` goroutines", Value: base.Number("4", 1, base.MostWorkers)},
			&cli.GenericFlag{Name: "count", Aliases: []string{"n"}, Usage: "end after `N` identifiers", Value: base.Count("", 1)},
			&cli.GenericFlag{Name: "duration", Usage: "end after `D`", Value: base.Duration("", 0)},
			&cli.GenericFlag{Name: "metrics-addr", Usage: "serve metrics and health at `ADDR`, such as :9090", Value: base.Address("")},
		),
		Action: base.Action(env, readWorker),
	}
}

// Run takes identifiers until a limit is reached or ctx ends, which is no error.
func (w *worker) Run(ctx context.Context) error {
	return w.servers.Use(ctx, w.Timeout, func(o target.Opened) error {
		w.live = w.GoLive()
		w.prepare()
		var err error
		if w.ids, err = o.Allocator(base.Options(w.Session, o, w.Log)); err != nil { // logs outages, which do not end the worker
			return err
		}
		if w.MetricsAddr != "" {
			stop, err := w.serve(ctx)
			if err != nil {
				return err
			}
			defer stop()
		}
		found, err := w.run(ctx, o)
		return cmp.Or(err, w.Show(found, func() error { return w.print(found) }))
	})
}

func readWorker(r *base.Reader) base.Runner {
	r.Own = "worker"
	w := &worker{Session: r.Session(), servers: r.Servers()}
	if w.Collections = r.NamedCollections(w.Separator); len(w.Collections) == 0 {
		r.Failf("%s needs a COLLECTION; usage: %s", r.FullName(), r.Command.UsageText)
	}
	w.Rate = r.Number("rate") // 0 for "max"
	w.Goroutines = int(r.Number("goroutines"))
	w.Count, w.Duration = r.Number("count"), r.Period("duration")
	w.MetricsAddr, _ = r.Text("metrics-addr")
	return w
}
