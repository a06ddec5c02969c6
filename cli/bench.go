package cli

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/allocator"
)

// bench measures Next against a server.
type bench struct {
	globals
	target      target
	Collections []string
	Workers     int
	Allocators  int           // that the workers are spread over
	Count       int64         // identifiers in all; 0: Duration decides
	Duration    time.Duration // 0: Count decides
	Warmup      time.Duration // before anything is measured
	Rate        int64         // identifiers a second in all; 0: as many as there can be
	Compare     bool
	Keep        bool      // the namespace is the user's, and stays
	Progress    io.Writer // nil: none is shown
	Every       time.Duration
}

const (
	defaultCollection = "orders"
	benchNamespace    = "hilo-bench-" // and something random

	mostWorkers     = 10_000
	mostCollections = 100_000
	mostPairs       = 1_000_000 // of an allocator and a collection
	mostRate        = 1_000_000_000

	// compareFor is how long the comparison takes at most: a round trip for each identifier is steady soon.
	compareFor = 2 * time.Second

	// To read the clock twice takes about as long as Next. Below these bounds each call is timed all the same: so few
	// do not matter.
	sampleOneIn    = 100
	timedUpToCount = 100_000
	timedUpToRate  = 1_000_000
)

func newBenchCommand(env Env) *cli.Command {
	return command(&cli.Command{
		Name:      "bench",
		Usage:     "measure rate, round trips and latency on your server",
		UsageText: "hilo bench [COLLECTION] [--duration D | --count N] [--warmup D] [--rate R] [--workers N] [--compare]",
		Description: describe(`
Has workers take identifiers as a program does, with Next, from one allocator that
they share or from several. Shows the rate; the ranges, each of which is one round
trip; percentiles of the latency; and, per collection, what was reserved, issued,
returned and burnt. Ctrl-C ends it early, and what was measured so far is shown.

It works in a namespace of its own, {hilo-bench-…}, which no other program uses, and
removes its keys at the end, also after an error or Ctrl-C; kill -9 leaves them.
$HILO_NAMESPACE does not count here. With --namespace NAME it works in that one:
then the COLLECTION has to be named too, its counter stays raised by all that was
issued, and nothing of it is removed.

Latency: at full speed one call in 100, at random, is timed, and each call that found
no number in hand; with --rate up to 1000000, or --count up to 100000, every call is.
At full speed a worker that waits asks for nothing meanwhile, so waits look rarer than
they would be to callers that come on time. With --rate each call has a time when it is
due, and one that came due while its worker waited counts from then.

With --warmup the workers go on as before when the measuring begins: ranges have grown by
then, and are fetched ahead. What they hold by then counts as reserved after it.

--output json: namespace, workers, allocators, targetRate (0: full speed), warmupSeconds,
interrupted, seconds, ids, perSecond, callsThatWaited, roundTripsPerId, burntPerId;
latencyNanoseconds {p50, p99, p999, p9999, greatest}; sampling {oneIn, timed, waited,
clockNanoseconds}; total and collections [{collection}], each {ranges, reserved, issued,
returned, burnt, held, waits, failures}, where reserved = issued + returned + burnt, and
held is what was in hand before the end, which kill -9 would have burnt; with --compare,
compare {ids, seconds, perSecond, ratio, failures, latencyNanoseconds}.`,
			[]string{
				"hilo bench",
				"hilo bench --workers 64 --compare --redis redis://cache.example:6379/0",
				"hilo bench --rate 50000 --duration 30s --allocators 8 --output json",
			},
			"1 failed or interrupted", "3 Redis unavailable", "4 the counter is exhausted, or the name is taken by an identity"),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "duration", Usage: "go on for `D`", DefaultText: "5s"},
			&cli.StringFlag{Name: "count", Usage: "take `N` identifiers in all, however long that takes"},
			&cli.StringFlag{Name: "warmup", Usage: "measure nothing for `D` at first"},
			&cli.StringFlag{Name: "rate", Usage: "take `R` identifiers a second in all", DefaultText: "full speed"},
			newBenchNumber("workers", "`N` goroutines", "8"),
			newBenchNumber("allocators", "spread the workers over `N` allocators, as separate processes would be", "1"),
			newBenchNumber("collections", "take from `N` collections in turn: COLLECTION1, COLLECTION2, …", "1"),
			&cli.BoolFlag{Name: "compare", Usage: "add one INCR per identifier, for up to 2 seconds", DisableDefaultText: true},
		},
		Action: func(c *cli.Context) error {
			b := bench{Compare: c.Bool("compare"), Every: time.Second}
			var err error
			if b.globals, b.target, err = readServer(c, env); err != nil {
				return err
			}
			if b, err = b.withFlags(c); err != nil {
				return err
			}
			if isTerminal(b.Stderr) {
				b.Progress = b.Stderr
			}
			return b.Run(c.Context)
		},
	})
}

func newBenchNumber(name, usage, standard string) cli.Flag {
	return &cli.StringFlag{Name: name, Usage: usage, Value: standard, DefaultText: standard}
}

// Run shows what was measured, be it all or not, and says with an error how much came before it.
func (b bench) Run(ctx context.Context) error {
	var given int64
	err := b.target.use(ctx, b.Timeout, func(client redis.UniversalClient) (err error) {
		scratch := fmt.Sprintf("{%s}/Bench/%s", b.Namespace, strings.ToLower(crand.Text()))
		if err := b.probe(ctx, client, scratch); err != nil {
			return err
		}
		defer func() { err = b.clean(ctx, client, scratch, err) }()
		found, err := b.measure(ctx, client, scratch)
		if given = found.IDs; given == 0 && err != nil {
			return err
		}
		return cmp.Or(b.show(found), err)
	})
	return after(err, given)
}

// measure gives what was measured also with an error.
func (b bench) measure(ctx context.Context, client redis.UniversalClient, scratch string) (measured, error) {
	found := measured{
		Namespace: b.Namespace, Workers: b.Workers, Allocators: b.Allocators, TargetRate: b.Rate, Warmup: b.Warmup.Seconds(),
	}
	fleet, sources, err := b.fleet(client)
	if err != nil {
		return found, err
	}
	if err := b.warmUp(ctx, sources); err != nil {
		b.closeAll(ctx, fleet)
		return found, err
	}
	warm := tallyByName(fleet)
	got, err := b.run(ctx, "", b.load(), sources)
	held := tallyByName(fleet)
	b.closeAll(ctx, fleet)
	found.take(got, b.Collections, since(tallyByName(fleet), warm), since(held, warm))
	if b.Compare && err == nil {
		if got, err = b.increment(ctx, client, scratch); got.ids > 0 {
			found.compare(got)
		}
	}
	found.Interrupted = ctx.Err() != nil
	return found, err
}

// fleet makes the allocators, and for each worker the collections that it takes from, beginning with another one each.
func (b bench) fleet(client redis.UniversalClient) ([]*allocator.Allocator, []source, error) {
	fleet := make([]*allocator.Allocator, b.Allocators)
	shared := make([][]*allocator.Collection, b.Allocators)
	for i := range fleet {
		a, err := allocator.New(client, allocator.Options{
			Namespace:     b.Namespace,
			Separator:     b.Separator,
			RefillTimeout: b.Timeout,
			Logger:        withoutReturned(b.Log),
		})
		if err != nil {
			return nil, nil, err
		}
		fleet[i] = a
		for _, name := range b.Collections {
			c, err := a.Collection(name)
			if err != nil {
				return nil, nil, err
			}
			shared[i] = append(shared[i], c)
		}
	}
	sources := make([]source, b.Workers)
	for i := range sources {
		sources[i] = &rotation{collections: shared[i%b.Allocators], at: i * len(b.Collections) / b.Workers}
	}
	return fleet, sources, nil
}

// warmUp runs the load to come for a while, and forgets what it saw.
func (b bench) warmUp(ctx context.Context, sources []source) error {
	if b.Warmup == 0 {
		return nil
	}
	_, err := b.run(ctx, "warm-up: ", &load{Duration: b.Warmup, Rate: b.Rate, Patience: b.Timeout, OneIn: sampleOneIn}, sources)
	return err
}

func (b bench) load() *load {
	l := &load{Count: b.Count, Duration: b.Duration, Rate: b.Rate, Patience: b.Timeout, OneIn: sampleOneIn}
	if b.Rate > 0 && b.Rate <= timedUpToRate || b.Count > 0 && b.Count <= timedUpToCount {
		l.OneIn = 1
	}
	return l
}

// increment measures one INCR per identifier.
func (b bench) increment(ctx context.Context, client redis.UniversalClient, key string) (taken, error) {
	l := &load{Count: b.Count, Duration: compareFor, Rate: b.Rate, Patience: b.Timeout}
	if b.Duration > 0 {
		l.Duration = min(compareFor, b.Duration)
	}
	sources := make([]source, b.Workers)
	for i := range sources {
		sources[i] = increment{client, key}
	}
	// One deadline for all, since one for each would be part of what is measured.
	ctx, cancel := context.WithTimeout(ctx, l.Duration+2*b.Timeout)
	defer cancel()
	return b.run(ctx, "INCR: ", l, sources)
}

// run runs a load and shows how it gets on.
func (b bench) run(ctx context.Context, what string, l *load, sources []source) (taken, error) {
	newLoad(l, sources)
	if b.Progress == nil {
		return l.run(ctx)
	}
	done := make(chan struct{})
	var showing sync.WaitGroup
	showing.Go(func() { showProgress(b.Progress, what, l, b.Every, done) })
	defer showing.Wait()
	defer close(done)
	return l.run(ctx)
}

// closeAll gives back what was not used, also after an interruption: all allocators at once, as processes would.
func (b bench) closeAll(ctx context.Context, fleet []*allocator.Allocator) {
	var closing sync.WaitGroup
	for _, a := range fleet {
		closing.Go(func() { b.close(ctx, a) })
	}
	closing.Wait()
}
