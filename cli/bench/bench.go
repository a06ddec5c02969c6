// Package bench has hilo bench: rate, round trips and latency on a server of the user's. It exports its commands and nothing
// else, and may import the rooms under cli/internal and the library.
package bench

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/urfave/cli/v3"
	"go.uber.org/zap"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/tally"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/cli/internal/term"
	"github.com/hilo-id/hilo/prefix"
)

// bench measures Next against a server.
type bench struct { //nolint:recvcheck // filled in once, and a value from then on
	*base.Session
	target      target.Target
	Collections []string
	Workers     int
	Allocators  int           // that the workers are spread over
	Count       int64         // identifiers in all; 0: Duration decides
	Duration    time.Duration // 0: Count decides
	Warmup      time.Duration // before anything is measured
	Rate        int64         // identifiers a second in all; 0: as many as there can be
	Compare     bool
	Keep        bool // the namespace is the user's, and stays
	Progress    io.Writer
	Every       time.Duration
}

const (
	scratchNamespace = "hilo-bench-" // and something random

	mostPairs = 1_000_000 // of an allocator and a collection

	// compareFor is how long the comparison takes at most: a round trip for each identifier is steady soon.
	compareFor = 2 * time.Second

	// To read the clock twice takes about as long as Next. Below these bounds each call is timed all the same: so few
	// do not matter.
	sampleOneIn    = 100
	timedUpToCount = 100_000
	timedUpToRate  = 1_000_000
)

// Command is hilo bench.
func Command(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "bench",
		Usage:     "measure rate, round trips and latency on your server",
		UsageText: "hilo bench [COLLECTION] [--duration D | --count N] [--warmup D] [--rate R] [--workers N] [--compare]",
		Description: base.Describe(`
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
			&cli.StringFlag{Name: "workers", Usage: "`N` goroutines", Value: "8"},
			&cli.StringFlag{Name: "allocators", Usage: "spread the workers over `N` allocators, as separate processes would be", Value: "1"},
			&cli.StringFlag{Name: "collections", Usage: "take from `N` collections in turn: COLLECTION1, COLLECTION2, …", Value: "1"},
			&cli.BoolFlag{Name: "compare", Usage: "add one INCR per identifier, for up to 2 seconds"},
		},
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			b := bench{Session: r.Session(), target: r.Target(), Compare: r.Bool("compare"), Every: time.Second, Progress: io.Discard}
			b.readSize(r)
			b.readNames(r)
			if term.IsTerminal(b.Stderr) {
				b.Progress = b.Stderr
			}
			return b
		}),
	}
}

// readSize reads how much is to be done, by how many.
func (b *bench) readSize(r *base.Reader) {
	b.Workers, b.Allocators = int(r.Number("workers", 1, base.MostWorkers)), int(r.Number("allocators", 1, base.MostWorkers))
	if b.Allocators > b.Workers {
		r.Failf("--allocators is %d: must be at most --workers, %d, since each is used by one at least", b.Allocators, b.Workers)
	}
	b.Rate, b.Warmup = r.Number("rate", 1, base.MostRate), r.Period("warmup", 0)
	if r.IsSet("count") && r.IsSet("duration") {
		r.Failf("--count and --duration both say when it ends: leave one of them out")
	}
	b.Count, b.Duration = r.Count("count", 1), r.Period("duration", 0)
	if b.Count == 0 && b.Duration == 0 {
		b.Duration = 5 * time.Second
	}
}

// readNames reads the collections and the namespace. The user's own namespace is used only if the command line names
// it, and a counter of his only if it names that as well: it is going to be raised by millions.
func (b *bench) readNames(r *base.Reader) {
	b.Keep = r.IsSet(base.FlagNamespace)
	name := base.DefaultCollection
	switch {
	case r.Args().Present():
		name = r.Collection(b.Separator)
	case b.Keep:
		r.Failf("%s in a namespace of yours needs a COLLECTION: its counter is going to be raised by all that is issued", r.FullName())
	}
	b.Collections = r.Collections(name, base.MostCollections)
	if n := len(b.Collections); n*b.Allocators > mostPairs {
		r.Failf("--collections and --allocators are %d and %d: their product must be at most %d", n, b.Allocators, mostPairs)
	}
	if r.Err == nil {
		r.Valid(b.Collections[len(b.Collections)-1], b.Separator, "name a shorter one")
	}
	if !b.Keep {
		b.Namespace = scratchNamespace + strings.ToLower(crand.Text())
	}
}

// Run shows what was measured, be it all or not, and says with an error how much came before it.
func (b bench) Run(ctx context.Context) error {
	var given int64
	err := b.target.Alone().Use(ctx, b.Timeout, func(o target.Opened) (err error) {
		client := o.Clients[0]
		var scratch []string // keys that go at the end
		if b.Compare {
			scratch = append(scratch, fmt.Sprintf("{%s}/Bench/%s", b.Namespace, strings.ToLower(crand.Text())))
		}
		if !b.Keep {
			for _, name := range b.Collections {
				scratch = append(scratch, prefix.NewKeys(b.Namespace).HiLo(name))
			}
		}
		if len(scratch) > 0 { // before anything is written, that it can be removed is made sure of
			if err := b.remove(ctx, client, scratch[:1]); err != nil {
				return exit.OfRedis(err)
			}
			defer func() { err = b.clean(ctx, client, scratch, err) }()
		}
		found, err := b.measure(ctx, o, scratch)
		if given = found.IDs; given == 0 && err != nil {
			return err
		}
		return cmp.Or(b.Show(found, func() error { return b.print(found) }), err)
	})
	return exit.After(err, given)
}

// measure gives what was measured also with an error.
func (b bench) measure(ctx context.Context, o target.Opened, scratch []string) (found measured, err error) {
	fleet, sources, err := b.fleet(o)
	if err != nil {
		return found, err
	}
	if b.Warmup > 0 { // the load to come, of which nothing is kept
		if _, err := b.run(ctx, "warm-up: ", 0, b.Warmup, sources); err != nil {
			b.closeAll(ctx, fleet)
			return found, err
		}
	}
	warm := counted(fleet)
	got, err := b.run(ctx, "", b.Count, b.Duration, sources)
	held := counted(fleet)
	b.closeAll(ctx, fleet)
	found = measured{
		Namespace: b.Namespace, Workers: b.Workers, Allocators: b.Allocators, TargetRate: b.Rate, Warmup: b.Warmup.Seconds(),
		Seconds: got.elapsed.Seconds(), IDs: got.ids, PerSecond: got.perSecond(), CallsThatWaited: got.waits,
		Latency: got.latency, Sampling: got.sampling, Report: tally.Between(b.Collections, warm, held, counted(fleet)),
	}
	found.Sampling.Clock = int64(clockCost())
	found.RoundTripsPerID = float64(found.Total.Ranges) / float64(max(got.ids, 1))
	found.BurntPerID = float64(found.Total.Burnt) / float64(max(got.ids, 1))
	if b.Compare && err == nil {
		var each taken
		if each, err = b.increment(ctx, o.Clients[0], scratch[0]); each.ids > 0 {
			found.Compare = &compared{
				IDs: each.ids, Seconds: each.elapsed.Seconds(), PerSecond: each.perSecond(), Ratio: got.perSecond() / each.perSecond(),
				Failures: each.failures, Latency: each.latency,
			}
		}
	}
	found.Interrupted = ctx.Err() != nil
	return found, err
}

// fleet makes the allocators, and for each worker the collections that it takes from, beginning with another one each.
func (b bench) fleet(o target.Opened) (fleet []*allocator.Allocator, sources []source, err error) {
	shared := make([][]*allocator.Collection, b.Allocators)
	for i := range shared {
		a, err := allocator.New(o.Clients[0], base.Options(b.Session, o, base.WithoutReturned(b.Log)))
		if err != nil {
			return nil, nil, err
		}
		fleet = append(fleet, a)
		for _, name := range b.Collections {
			c, err := a.Collection(name)
			if err != nil {
				return nil, nil, err
			}
			shared[i] = append(shared[i], c)
		}
	}
	for i := range b.Workers {
		sources = append(sources, rotation(shared[i%b.Allocators], i*len(b.Collections)/b.Workers))
	}
	return fleet, sources, nil
}

// counted is what all allocators counted so far.
func counted(fleet []*allocator.Allocator) (all []allocator.Stats) {
	for _, a := range fleet {
		all = append(all, a.Stats())
	}
	return all
}

// increment measures one INCR per identifier.
func (b bench) increment(ctx context.Context, client redis.UniversalClient, key string) (taken, error) {
	increments := source{
		tryNext: func() bool { return false },
		next: func(ctx context.Context) error {
			if err := client.Incr(ctx, key).Err(); err != nil {
				return exit.OfRedis(err)
			}
			return nil
		},
	}
	duration := min(compareFor, cmp.Or(b.Duration, compareFor))
	// One deadline for all, since one for each would be part of what is measured.
	ctx, cancel := context.WithTimeout(ctx, duration+2*b.Timeout)
	defer cancel()
	return b.run(ctx, "INCR: ", b.Count, duration, slices.Repeat([]source{increments}, b.Workers))
}

// run runs a load at the rate that is asked for. It shows how that gets on in lines, and not in one that is written over: the
// log may come in between.
func (b bench) run(ctx context.Context, what string, count int64, duration time.Duration, sources []source) (taken, error) {
	oneIn := sampleOneIn
	if b.Rate > 0 && b.Rate <= timedUpToRate || count > 0 && count <= timedUpToCount {
		oneIn = 1
	}
	l := newLoad(&load{Count: count, Duration: duration, Rate: b.Rate, Patience: b.Timeout, OneIn: oneIn}, sources)
	underWay, ended := context.WithCancel(ctx)
	var showing sync.WaitGroup
	showing.Go(func() {
		var last progress
		for base.Sleep(underWay, b.Every); underWay.Err() == nil; base.Sleep(underWay, b.Every) {
			now := l.soFar()
			fmt.Fprintf(b.Progress, "%s%s\n", what, now.since(last))
			last = now
		}
	})
	defer showing.Wait()
	defer ended()
	return l.run(ctx)
}

// closeAll gives back what was not used, also after an interruption: all allocators at once, as processes would.
func (b bench) closeAll(ctx context.Context, fleet []*allocator.Allocator) {
	var closing sync.WaitGroup
	for _, a := range fleet {
		closing.Go(func() { base.CloseAllocator(ctx, b.Session, a) })
	}
	closing.Wait()
}

// clean removes the keys, by their names. It says if it cannot, whatever was wrong before.
func (b bench) clean(ctx context.Context, client redis.UniversalClient, keys []string, before error) error {
	const atOnce = 1000
	for ; len(keys) > 0; keys = keys[min(atOnce, len(keys)):] {
		err := b.remove(context.WithoutCancel(ctx), client, keys[:min(atOnce, len(keys))])
		if err == nil {
			continue
		}
		left := fmt.Sprintf("the keys of the benchmark could not be removed (%s): %d, of which the first is %s; remove them with redis-cli",
			exit.Plain(err), len(keys), keys[0])
		if before == nil {
			return &exit.Error{Code: exit.Failed, Text: left, Cause: err}
		}
		b.Log.Warn("the benchmark did not clean up", zap.String("left", left))
		break
	}
	return before
}

func (b bench) remove(ctx context.Context, client redis.UniversalClient, keys []string) error {
	ctx, cancel := context.WithTimeout(ctx, b.Timeout)
	defer cancel()
	return client.Del(ctx, keys...).Err()
}
