package cli

import (
	"context"
	"errors"
	"net"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/allocator"
)

// fleetWorker takes identifiers as a program of a fleet does, until it is told to stop.
type fleetWorker struct {
	globals
	servers     servers
	Collections []string
	Rate        int64 // identifiers a second in all; 0: full speed
	Goroutines  int
	Count       int64         // identifiers in all; 0: no end
	Duration    time.Duration // 0: no end
	Documents   *target       // nil: none are stored
	MetricsAddr string        // "": nothing is served
}

const (
	flagRate          = "rate"
	flagGoroutines    = "goroutines"
	flagCount         = "count"
	flagDuration      = "duration"
	flagDocuments     = "documents"
	flagDocumentsFile = "documents-password-file"
	flagMetricsAddr   = "metrics-addr"

	fullSpeed = "max"
)

func newWorkerCommand(env Env) *cli.Command {
	return command(&cli.Command{
		Name:      "worker",
		Usage:     "take identifiers at a rate, as a worker of a fleet",
		UsageText: "hilo worker COLLECTION... [--rate R] [--documents URL] [--metrics-addr ADDR]",
		Description: describe(`
Takes identifiers of the collections in turn until it gets SIGTERM or Ctrl-C; then it
returns what it did not use, stores what it took, and prints a summary, which says how
much of either could not be done within --timeout. A second signal kills it. A
collection that is refused is tried on, and does not hold up the others.

With --documents each identifier is stored as a key of that Redis, with SET NX; its
value says which worker wrote it, so one that was given twice shows at once: an error
in the log, and exit code 5 at the end.

It needs no server to start: where none serves, or no documents can be stored, it
warns and goes on trying. It ends by itself only with --count or --duration, or when
a collection is exhausted or the name of an identity.

--metrics-addr serves /metrics for Prometheus, /healthz, and /readyz, which is 200 when
numbers are in hand or a server is up.

For containers each flag has a variable, $HILO_WORKER_RATE and so on, and so have the
collections: $HILO_WORKER_COLLECTIONS, with white space between them.`+aboutServers,
			[]string{
				"hilo worker orders --rate 1000",
				"hilo worker orders users --documents redis://documents:6379 --metrics-addr :9090",
				"hilo worker orders --rate max --count 1000000 --redis embedded:",
			},
			"1 failed", "3 documents could not be stored before the end", "4 exhausted, or the name of an identity",
			"5 an identifier was given twice"),
		Flags: serverFlags(
			&cli.StringFlag{Name: flagRate, Usage: "take `R` identifiers a second in all, 0 or max: full speed", Value: "100", DefaultText: "100"},
			&cli.StringFlag{Name: flagGoroutines, Usage: "take them on `N` goroutines", Value: "4", DefaultText: "4"},
			&cli.StringFlag{Name: flagCount, Usage: "end after `N` identifiers"},
			&cli.StringFlag{Name: flagDuration, Usage: "end after `D`"},
			&cli.StringFlag{Name: flagDocuments, Usage: "store each in the Redis at `URL`"},
			&cli.StringFlag{Name: flagDocumentsFile, Usage: "`FILE` of its password; else --password-file, if the URL names a user"},
			&cli.StringFlag{Name: flagMetricsAddr, Usage: "serve metrics and health at `ADDR`, such as :9090"},
		),
		Action: func(c *cli.Context) error {
			w, err := readWorker(c, env)
			if err != nil {
				return err
			}
			return w.Run(c.Context)
		},
	})
}

// Run returns when the end is reached or ctx has ended, which is how it is meant to end.
func (w *fleetWorker) Run(ctx context.Context) error {
	var listener net.Listener
	if w.MetricsAddr != "" {
		var err error
		if listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", w.MetricsAddr); err != nil {
			return &failure{code: exitFailed, cause: err, text: "metrics cannot be served: " + err.Error() +
				"; choose another address with --" + flagMetricsAddr}
		}
		defer listener.Close()
	}
	return w.servers.use(ctx, w.Timeout, func(o opened) error {
		s := newShift(*w)
		opts := o.options(w.globals)
		opts.Logger = w.Log // it goes on after an outage, so nothing is said twice
		var err error
		if s.ids, err = o.allocator(opts); err != nil {
			return err
		}
		for _, name := range s.Collections {
			c, err := s.ids.Collection(name)
			if err != nil {
				return err
			}
			s.from = append(s.from, newShiftCollection(c, s.Log))
		}
		s.explain = func(err error) error { return o.explain(ctx, err) }
		if w.Documents != nil {
			client, closeDocuments, err := w.Documents.open(w.Timeout)
			if err != nil {
				return err
			}
			defer closeDocuments()
			s.documents = newDocuments(*w, s.name, client)
		}
		defer s.serve(ctx, listener)()
		found, err := s.run(ctx)
		if shown := w.show(found); err == nil {
			err = shown
		}
		return err
	})
}

// lasting reports whether it makes no sense to try again: everything else can be put right while a worker waits.
func lasting(err error) bool {
	return errors.Is(err, allocator.ErrExhausted) || errors.Is(err, allocator.ErrMixed)
}

// workerVariable is the environment variable of a flag of the worker's own.
func workerVariable(flag string) string {
	return "HILO_WORKER_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}
