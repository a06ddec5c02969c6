// Package run implements the commands that run until they are stopped. worker takes identifiers as a program of a fleet does,
// stores documents and exposes metrics. serve issues identifiers over HTTP to programs in any language and to RavenDB's own
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
	Count       int64          // identifiers in total; 0 means no limit
	Duration    time.Duration  // 0 means no limit
	Documents   *target.Target // where documents are stored; nil means nowhere
	MetricsAddr string         // "" means no metrics

	name     string // unique to this process, for the documents
	ids      *allocator.Allocator
	live     *term.Live
	closing  atomic.Bool
	taken    atomic.Int64      // identifiers
	failures atomic.Int64      // failed calls of the allocator
	outage   *alarm            // no server is available
	refusals map[string]*alarm // the state of a collection is refused
	documents

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
		UsageText: "hilo worker COLLECTION... [--rate R] [--documents URL] [--metrics-addr ADDR]",
		Description: base.Describe(`
Takes identifiers of the collections in turn until SIGTERM or Ctrl-C. Then it returns
unused ranges, stores what it took, and prints a summary, with the number of ids for
which --timeout was too short. A second signal kills it. A collection that is refused is
retried, and does not delay the others.

With --documents each identifier is stored as a key of that Redis, 7.0 or later, with
SET NX GET. Its value names the worker that wrote it, so a duplicate shows at once: an
error in the log, and exit code 5 at the end.

worker needs no server to start: while no server issues ids, or documents cannot be
stored, it warns and retries. It ends by itself only with --count or --duration, or when
a collection is exhausted or has the name of an identity.

--metrics-addr serves /metrics for Prometheus, /healthz, and /readyz, which is 200 when
numbers are in hand or a server is up.

For containers each flag has a variable, $HILO_WORKER_RATE and so on, and so have the
collections: $HILO_WORKER_COLLECTIONS, separated by white space.`+base.AboutServers,
			[]string{
				"hilo worker orders --rate 1000",
				"hilo worker orders users --documents redis://documents:6379 --metrics-addr :9090",
				"hilo worker orders --rate max --count 1000000 --redis embedded:",
			},
			"1 failed", "3 documents could not be stored before the end", "4 exhausted, or the name of an identity",
			"5 an identifier was issued twice"),
		Flags: base.ServerFlags(
			&cli.GenericFlag{Name: "rate", Usage: "take `R` identifiers a second in all; 0 or max is full speed", Value: base.Number("100", 0, base.MostRate).Or("max")},
			&cli.GenericFlag{Name: "goroutines", Usage: "take them on `N` goroutines", Value: base.Number("4", 1, base.MostWorkers)},
			&cli.GenericFlag{Name: "count", Aliases: []string{"n"}, Usage: "end after `N` identifiers", Value: base.Count("", 1)},
			&cli.GenericFlag{Name: "duration", Usage: "end after `D`", Value: base.Duration("", 0)},
			&cli.GenericFlag{Name: base.FlagDocuments, Usage: "store each in the Redis at `URL`", Value: base.Text("")},
			&cli.GenericFlag{Name: "documents-password-file", Usage: "`FILE` of its password; else --password-file, if the URL names a user", Value: base.Text(""), TakesFile: true},
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
		if w.Documents != nil {
			var closeDocuments func()
			if w.client, closeDocuments, err = w.Documents.Open(w.Timeout); err != nil {
				return err
			}
			defer closeDocuments()
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
	w.readDocuments(r)
	w.MetricsAddr, _ = r.Text("metrics-addr")
	return w
}

func (w *worker) readDocuments(r *base.Reader) {
	text, source := r.Text(base.FlagDocuments)
	file, fileSource := r.Text("documents-password-file")
	if text == "" {
		if file != "" {
			r.Failf("%s needs documents: name their Redis with %s URL", fileSource, base.Dashed(base.FlagDocuments))
		}
		return
	}
	t, err := target.ParseURL(text)
	if err != nil {
		r.Failf("%s %s", source, err)
		return
	}
	a := r.Access()
	switch {
	case file != "":
		a.Password = r.Password(file, fileSource)
	case !t.NamesUser():
		a.Password = "" // --password-file is for the servers, and a Redis without users may have no password
	}
	a.Give(&t)
	w.Documents = &t
}
