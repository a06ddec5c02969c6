package examine

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"
	"go.uber.org/zap"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/fleet"
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
	Allocators  int           // of the workers together
	Count       int64         // identifiers in all; 0 means that Duration decides
	Duration    time.Duration // 0 means that Count decides
	Warmup      time.Duration // before anything is measured
	Rate        int64         // identifiers a second in all; 0 means full speed
	Compare     bool
	Explain     bool
	SVG         string // file of a picture; "" means none
	Keep        bool   // the namespace is the user's, and stays
	live        *term.Live
	watch       func(what string, p loadProgress) // is called with the progress, for tests; may be nil
}

const (
	scratchNamespace = "hilo-bench-" // and something random

	maxPairs = 1_000_000 // of an allocator and a collection

	// compareFor is how long the comparison takes at most: the rate of round trips is steady soon.
	compareFor = 2 * time.Second
	showEvery  = 100 * time.Millisecond

	// Reading the clock twice takes about as long as Next. Up to these bounds each call is timed nevertheless: it does not
	// matter for so few.
	sampleOneIn    = 100
	timedUpToCount = 100_000
	timedUpToRate  = 1_000_000
)

// BenchCommand is hilo bench.
func BenchCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "bench",
		Usage:     "measure rate, round trips and latency",
		UsageText: "hilo bench [COLLECTION] [--duration D | --count N] [--warmup D] [--rate R] [--workers N] [--compare]",
		Description: base.Describe(`
Runs workers that take identifiers as a program does, with Next, from one allocator
that they share or from several. Shows the rate; the ranges, each of which is one round
trip; percentiles of the latency; on a terminal a histogram of it, and the rate over time;
and, per collection, what was reserved, issued, returned and burnt. Ctrl-C ends it early, and shows what was
measured so far.

bench uses a namespace of its own, {hilo-bench-…}, which no other program uses, and
removes its keys at the end, also after an error or Ctrl-C; kill -9 leaves them.
$HILO_NAMESPACE has no effect. With --namespace NAME it uses that one, and needs a
COLLECTION: its counter stays raised by all that was issued, and nothing is removed.

Latency: at full speed one call in 100, at random, is timed, and each call that found
no number in hand; with --rate up to 1000000, or --count up to 100000, every call is.
At full speed a worker that waits makes no other calls meanwhile, so waits look rarer
than they are to callers that come on time. With --rate each call is due at a time, and
one that came due while its worker waited is timed from then.

With --warmup the workers continue when the measurement begins: ranges have grown by
then, and are prefetched. Numbers in hand at that time count as reserved after it.`,
			[]string{
				"hilo bench",
				"hilo bench --workers 64 --compare --redis redis://cache.example:6379/0",
				"hilo bench --svg bench.svg",
				"hilo bench --rate 50000 --duration 30s --allocators 8 --output json",
			},
			"1 failed or interrupted", "3 Redis unavailable", "4 the counter is exhausted, or the name is taken by an identity"),
		Flags: []cli.Flag{
			&cli.GenericFlag{Name: "duration", Usage: "go on for `D`", Value: base.Duration("", 0), DefaultText: "5s"},
			&cli.GenericFlag{Name: "count", Aliases: []string{"n"}, Usage: "take `N` identifiers in all, however long that takes", Value: base.Count("", 1)},
			&cli.GenericFlag{Name: "warmup", Usage: "measure nothing for `D` at first", Value: base.Duration("", 0)},
			&cli.GenericFlag{Name: "rate", Usage: "take `R` identifiers a second in all", Value: base.Number("", 1, base.MostRate), DefaultText: "full speed"},
			&cli.GenericFlag{Name: "workers", Usage: "`N` goroutines", Value: base.Number("8", 1, base.MostWorkers)},
			&cli.GenericFlag{Name: "allocators", Usage: "spread the workers over `N` allocators, as separate processes would be", Value: base.Number("1", 1, base.MostWorkers)},
			&cli.GenericFlag{Name: "collections", Usage: "take from `N` collections in turn: COLLECTION1, COLLECTION2, …", Value: base.Number("1", 1, base.MostCollections)},
			&cli.BoolFlag{Name: "compare", Usage: "add one INCR per identifier, for up to 2 seconds"},
			&cli.GenericFlag{Name: "svg", Usage: "write the histogram and the rate over time as a picture to `FILE`", Value: base.Text(""), TakesFile: true},
			&cli.BoolFlag{Name: "explain", Usage: "explain how the figures were measured"},
		},
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			b := bench{Session: r.Session(), target: r.Target(), Compare: r.Bool("compare"), Explain: r.Bool("explain")}
			b.SVG, _ = r.Text("svg")
			b.readSize(r)
			b.readNames(r)
			return b
		}),
	}
}

// readSize reads the size of the load.
func (b *bench) readSize(r *base.Reader) {
	b.Workers, b.Allocators = int(r.Number("workers")), int(r.Number("allocators"))
	if b.Allocators > b.Workers {
		r.Failf("--allocators is %d: must be at most --workers, %d", b.Allocators, b.Workers)
	}
	b.Rate, b.Warmup = r.Number("rate"), r.Period("warmup")
	if r.IsSet("count") && r.IsSet("duration") {
		r.Failf("--count and --duration exclude each other: remove one of them")
	}
	b.Count, b.Duration = r.Number("count"), r.Period("duration")
	if b.Count == 0 && b.Duration == 0 {
		b.Duration = 5 * time.Second
	}
}

// readNames reads the collections and the namespace. The user's namespace is used only if the command line names both it and a
// collection, whose counter will be raised by millions.
func (b *bench) readNames(r *base.Reader) {
	b.Keep = r.IsSet(base.FlagNamespace)
	name := base.DefaultCollection
	switch {
	case r.Args().Present():
		name = r.Collection(b.Separator)
	case b.Keep:
		r.Failf("%s --namespace needs a COLLECTION, whose counter is then raised by all that is issued", r.FullName())
	}
	b.Collections = r.Collections(name)
	if n := len(b.Collections); n*b.Allocators > maxPairs {
		r.Failf("--collections and --allocators are %d and %d: their product must be at most %d", n, b.Allocators, maxPairs)
	}
	if r.Err == nil {
		r.Valid(b.Collections[len(b.Collections)-1], b.Separator, "name a shorter one")
	}
	if !b.Keep {
		b.Namespace = scratchNamespace + strings.ToLower(crand.Text())
	}
}

// Run shows what was measured, also if it ended early; the error then has the number of identifiers before it.
func (b bench) Run(ctx context.Context) error {
	var issued int64
	b.live = b.GoLive()
	err := b.target.Alone().Use(ctx, b.Timeout, func(o target.Opened) (err error) {
		client := o.Clients[0]
		var scratch []string // keys to remove at the end
		if b.Compare {
			scratch = append(scratch, fmt.Sprintf("{%s}/Bench/%s", b.Namespace, strings.ToLower(crand.Text())))
		}
		if !b.Keep {
			for _, name := range b.Collections {
				scratch = append(scratch, prefix.NewKeys(b.Namespace).HiLo(name))
			}
		}
		if len(scratch) > 0 { // checks that keys can be removed, before anything is written
			if err := b.remove(ctx, client, scratch[:1]); err != nil {
				return exit.OfRedis(err)
			}
			defer func() { err = b.clean(ctx, client, scratch, err) }()
		}
		found, got, err := b.measure(ctx, o, scratch)
		if issued = found.IDs; issued == 0 && err != nil {
			return err
		}
		return cmp.Or(b.Show(found, func() error { return b.print(found, got) }), b.draw(found, got), err)
	})
	return exit.After(err, issued)
}

// measure returns what was measured also with an error, and the load that it is of.
func (b bench) measure(ctx context.Context, o target.Opened, scratch []string) (found measured, got loadResult, err error) {
	allocators, sources, err := b.fleet(o)
	if err != nil {
		return found, got, err
	}
	if b.Warmup > 0 { // the same load, whose result does not count
		if _, err := b.run(ctx, "warm-up", 0, b.Warmup, sources); err != nil {
			b.closeAll(ctx, allocators)
			return found, got, err
		}
	}
	warm := counted(allocators)
	got, err = b.run(ctx, "Next", b.Count, b.Duration, sources)
	held := counted(allocators)
	b.closeAll(ctx, allocators)
	found = measured{
		Namespace: b.Namespace, Workers: b.Workers, Allocators: b.Allocators, TargetRate: b.Rate, Warmup: b.Warmup.Seconds(),
		Seconds: got.elapsed.Seconds(), IDs: got.ids, PerSecond: got.perSecond(), CallsThatWaited: got.waits,
		Latency: got.latency, Sampling: got.sampling, Report: fleet.Between(b.Collections, warm, held, counted(allocators)),
	}
	found.Sampling.Clock = int64(clockCost())
	found.RoundTripsPerID = float64(found.Total.Ranges) / float64(max(got.ids, 1))
	found.BurntPerID = float64(found.Total.Burnt) / float64(max(got.ids, 1))
	if b.Compare && err == nil {
		var each loadResult
		if each, err = b.increment(ctx, o.Clients[0], scratch[0]); each.ids > 0 {
			found.Compare = &compared{
				IDs: each.ids, Seconds: each.elapsed.Seconds(), PerSecond: each.perSecond(), Ratio: got.perSecond() / each.perSecond(),
				Failures: each.failures, Latency: each.latency,
			}
		}
	}
	found.Interrupted = ctx.Err() != nil
	return found, got, err
}

// fleet returns the allocators, and for each worker a source that rotates over the collections, each from another one on.
func (b bench) fleet(o target.Opened) (allocators []*allocator.Allocator, sources []source, err error) {
	shared := make([][]*allocator.Collection, b.Allocators)
	for i := range shared {
		a, err := o.Clients[0].Allocator(base.Options(b.Session, o, base.WithoutReturned(b.Log)))
		if err != nil {
			return nil, nil, err
		}
		allocators = append(allocators, a)
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
	return allocators, sources, nil
}

// counted returns the statistics of all allocators.
func counted(allocators []*allocator.Allocator) (all []allocator.Stats) {
	for _, a := range allocators {
		all = append(all, a.Stats())
	}
	return all
}

// increment measures one INCR per identifier.
func (b bench) increment(ctx context.Context, client *target.Client, key string) (loadResult, error) {
	increments := source{
		tryNext: func() bool { return false },
		next: func(ctx context.Context) error {
			if err := client.Incr(ctx, key); err != nil {
				return exit.OfRedis(err)
			}
			return nil
		},
	}
	duration := min(compareFor, cmp.Or(b.Duration, compareFor))
	// One deadline for all, since one for each would be part of what is measured.
	ctx, cancel := context.WithTimeout(ctx, duration+2*b.Timeout)
	defer cancel()
	return b.run(ctx, "INCR", b.Count, duration, slices.Repeat([]source{increments}, b.Workers))
}

// run runs a load at the rate that is asked for, and shows its progress.
func (b bench) run(ctx context.Context, what string, count int64, duration time.Duration, sources []source) (loadResult, error) {
	oneIn := sampleOneIn
	if b.Rate > 0 && b.Rate <= timedUpToRate || count > 0 && count <= timedUpToCount {
		oneIn = 1
	}
	l := newLoad(&load{Count: count, Duration: duration, Rate: b.Rate, Patience: b.Timeout, OneIn: oneIn}, sources)
	bar := b.live.NewBar(term.Progress{What: what, Unit: "ids", Total: count})
	defer bar.End()
	underWay, ended := context.WithCancel(ctx)
	progress := []loadProgress{{}}
	var showing sync.WaitGroup
	showing.Go(func() {
		for base.Sleep(underWay, showEvery); underWay.Err() == nil; base.Sleep(underWay, showEvery) {
			p := l.soFar()
			progress = append(progress, p)
			share := 0.0
			if duration > 0 {
				share = p.elapsed.Seconds() / duration.Seconds()
			}
			bar.Set(p.ids, share, term.Style{Group: true}.Plural(p.waits, "wait"))
			if b.watch != nil {
				b.watch(what, p)
			}
		}
	})
	result, err := l.run(ctx)
	ended()
	showing.Wait()
	result.progress = slices.Concat(progress, []loadProgress{result.loadProgress})
	return result, err
}

// closeAll returns unused ranges, also after an interruption: all allocators at once, as processes would.
func (b bench) closeAll(ctx context.Context, allocators []*allocator.Allocator) {
	var closing sync.WaitGroup
	for _, a := range allocators {
		closing.Go(func() { base.CloseAllocator(ctx, b.Session, a) })
	}
	closing.Wait()
}

// clean removes the keys, by their names. It returns before, or logs what is left if there was an error already.
func (b bench) clean(ctx context.Context, client *target.Client, keys []string, before error) error {
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
		b.Log.Warn("keys of the benchmark are left", zap.String("error", left))
		break
	}
	return before
}

func (b bench) remove(ctx context.Context, client *target.Client, keys []string) error {
	ctx, cancel := context.WithTimeout(ctx, b.Timeout)
	defer cancel()
	return client.Del(ctx, keys...)
}
