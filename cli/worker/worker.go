// Package worker has hilo worker, which takes identifiers as a program of a fleet does, stores them as documents and serves
// metrics; and hilo probe, which asks one how it is. It exports its commands and nothing else, and may import the rooms
// under cli/internal and the library.
package worker

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/prefix"
)

// worker takes identifiers as a program of a fleet does, once, until it is told to stop.
type worker struct {
	*base.Session
	servers     target.Servers
	Collections []string
	Rate        int64 // identifiers a second in all; 0: full speed
	Goroutines  int
	Count       int64          // identifiers in all; 0: no end
	Duration    time.Duration  // 0: no end
	Documents   *target.Target // nil: none are stored
	MetricsAddr string         // "": nothing is served

	name     string // unique to this process, for the documents
	ids      *allocator.Allocator
	closing  atomic.Bool
	failures atomic.Int64      // attempts on servers that failed
	outage   *alarm            // about all collections
	refusals map[string]*alarm // about a collection each: what stands there refuses it
	documents

	mu   sync.Mutex              // guards what follows
	adds map[prefix.Server]int64 // identifiers, by what servers added
}

// Command is hilo worker.
func Command(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "worker",
		Usage:     "take identifiers at a rate, as a worker of a fleet",
		UsageText: "hilo worker COLLECTION... [--rate R] [--documents URL] [--metrics-addr ADDR]",
		Description: base.Describe(`
Takes identifiers of the collections in turn until it gets SIGTERM or Ctrl-C; then it
returns what it did not use, stores what it took, and prints a summary, which says how
much of either could not be done within --timeout. A second signal kills it. A
collection that is refused is tried on, and does not hold up the others.

With --documents each identifier is stored as a key of that Redis, 7.0 or later, with
SET NX GET; its value says which worker wrote it, so one that was given twice shows at
once: an error in the log, and exit code 5 at the end.

It needs no server to start: where none serves, or no documents can be stored, it
warns and goes on trying. It ends by itself only with --count or --duration, or when
a collection is exhausted or the name of an identity.

--metrics-addr serves /metrics for Prometheus, /healthz, and /readyz, which is 200 when
numbers are in hand or a server is up.

For containers each flag has a variable, $HILO_WORKER_RATE and so on, and so have the
collections: $HILO_WORKER_COLLECTIONS, with white space between them.`+base.AboutServers,
			[]string{
				"hilo worker orders --rate 1000",
				"hilo worker orders users --documents redis://documents:6379 --metrics-addr :9090",
				"hilo worker orders --rate max --count 1000000 --redis embedded:",
			},
			"1 failed", "3 documents could not be stored before the end", "4 exhausted, or the name of an identity",
			"5 an identifier was given twice"),
		Flags: base.ServerFlags(
			&cli.StringFlag{Name: "rate", Usage: "take `R` identifiers a second in all, 0 or max: full speed", Value: "100"},
			&cli.StringFlag{Name: "goroutines", Usage: "take them on `N` goroutines", Value: "4"},
			&cli.StringFlag{Name: "count", Usage: "end after `N` identifiers"},
			&cli.StringFlag{Name: "duration", Usage: "end after `D`"},
			&cli.StringFlag{Name: base.FlagDocuments, Usage: "store each in the Redis at `URL`"},
			&cli.StringFlag{Name: "documents-password-file", Usage: "`FILE` of its password; else --password-file, if the URL names a user"},
			&cli.StringFlag{Name: "metrics-addr", Usage: "serve metrics and health at `ADDR`, such as :9090"},
		),
		Action: base.Action(env, readWorker),
	}
}

// Run returns when the end is reached or ctx has ended, which is how it is meant to end.
func (w *worker) Run(ctx context.Context) error {
	return w.servers.Use(ctx, w.Timeout, func(o target.Opened) error {
		w.prepare()
		var err error
		if w.ids, err = o.Allocator(base.Options(w.Session, o, w.Log)); err != nil { // it goes on after an outage: nothing is said twice
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

// readWorker reads all flags and arguments.
func readWorker(r *base.Reader) base.Runner {
	r.Own = "worker"
	w := &worker{Session: r.Session(), servers: r.Servers()}
	if w.Collections = r.NamedCollections(w.Separator); len(w.Collections) == 0 {
		r.Failf("%s needs a COLLECTION: %s", r.FullName(), r.UsageText)
	}
	if rate, _ := r.Text("rate"); rate != "max" {
		w.Rate = r.Number("rate", 0, base.MostRate)
	}
	w.Goroutines = int(r.Number("goroutines", 1, base.MostWorkers))
	w.Count, w.Duration = r.Count("count", 1), r.Period("duration", 0)
	w.readDocuments(r)
	w.MetricsAddr, _ = r.Address("metrics-addr", "HOST:PORT or :PORT, such as :9090")
	return w
}

func (w *worker) readDocuments(r *base.Reader) {
	text, source := r.Text(base.FlagDocuments)
	file, fileSource := r.Text("documents-password-file")
	if text == "" {
		if file != "" {
			r.Failf("%s is set and no documents are stored: name their Redis with %s URL", fileSource, base.Dashed(base.FlagDocuments))
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
		a.Password = "" // that is the servers': a Redis that asks for no user may know no password
	}
	a.Give(&t)
	w.Documents = &t
}
