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

// bench measures the rate and the latency of Next.
type bench struct {
	*base.Session
	target      target.Target
	Collections []string
	Workers     int
	Allocators  int           // shared by the workers
	Count       int64         // identifiers in total; 0 means no limit
	Duration    time.Duration // 0 means no limit
	Warmup      time.Duration // load before the measurement
	Rate        int64         // identifiers per second in total; 0 means full speed
	Compare     bool
	Explain     bool
	SVG         string // output file; "" means none
	Keep        bool   // keep the keys, because the namespace is the user's
	live        *term.Live
	watch       func(what string, p loadProgress) // receives the progress in tests; may be nil
}

const (
	scratchNamespace = "hilo-bench-" // followed by random letters

	maxPairs = 1_000_000 // of an allocator and a collection

	// compareFor limits the comparison with INCR, whose rate is steady after a short time.
	compareFor = 2 * time.Second
	showEvery  = 100 * time.Millisecond

	// Reading the clock twice takes about as long as Next, so only a sample of the calls is timed. Loads up to these bounds
	// are too small for the overhead to matter, and every call is timed.
	sampleOneIn    = 100
	timedUpToCount = 100_000
	timedUpToRate  = 1_000_000
)

// BenchCommand returns hilo bench.
func BenchCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "bench",
		Usage:     "measure rate, round trips and latency",
		UsageText: "hilo bench [COLLECTION] [--duration D | --count N] [--warmup D] [--rate R] [--workers N] [--compare]",
		Description: base.Describe(`
Runs workers that take identifiers with Next, from one allocator that they share or from
several. Prints the rate, the number of ranges (one round trip each), percentiles of the
latency and, per collection, what was reserved, issued, returned and burnt. A terminal
also shows a histogram of the latency, and the rate over time. Ctrl-C ends the
measurement early and prints the result so far.

bench uses a namespace of its own, {hilo-bench-…}, which no other program uses, and
removes its keys at the end, also after an error or Ctrl-C; kill -9 leaves them.
$HILO_NAMESPACE has no effect. With --namespace NAME it uses that one, and needs a
COLLECTION: its counter stays raised by all that was issued, and nothing is removed.

Latency: at full speed a random sample of one call in 100 is timed, and each call that
found no number in hand. With --rate up to 1000000, or --count up to 100000, every call
is timed. At full speed a worker that waits starts no other calls, which hides waits
(coordinated omission). With --rate each call has a due time, and a call that came due
while its worker waited is timed from then.

With --warmup the workers run before the measurement begins: by then ranges have grown
and are prefetched. Numbers in hand at that time count as reserved after it.`,
			[]string{
				"hilo bench",
				"hilo bench --workers 64 --compare --redis redis://cache.example:6379/0",
				"hilo bench --svg bench.svg",
				"hilo bench --rate 50000 --duration 30s --allocators 8 --output json",
			},
			"1 failed or interrupted", "3 Redis unavailable", "4 the counter is exhausted, or the name is taken by an identity"),
		Flags: []cli.Flag{
			&cli.GenericFlag{Name: "duration", Usage: "measure for `D`", Value: base.Duration("", 0), DefaultText: "5s"},
			&cli.GenericFlag{Name: "count", Aliases: []string{"n"}, Usage: "take `N` identifiers in all, without a time limit", Value: base.Count("", 1)},
			&cli.GenericFlag{Name: "warmup", Usage: "run the load for `D` before the measurement", Value: base.Duration("", 0)},
			&cli.GenericFlag{Name: "rate", Usage: "take `R` identifiers a second in all", Value: base.Number("", 1, base.MostRate), DefaultText: "full speed"},
			&cli.GenericFlag{Name: "workers", Usage: "`N` goroutines", Value: base.Number("8", 1, base.MostWorkers)},
			&cli.GenericFlag{Name: "allocators", Usage: "spread the workers over `N` allocators, as separate processes would be", Value: base.Number("1", 1, base.MostWorkers)},
			&cli.GenericFlag{Name: "collections", Usage: "take from `N` collections in turn: COLLECTION1, COLLECTION2, …", Value: base.Number("1", 1, base.MostCollections)},
			&cli.BoolFlag{Name: "compare", Usage: "measure one INCR per identifier too, for up to 2 seconds"},
			&cli.GenericFlag{Name: "svg", Usage: "write the histogram and the rate over time as a picture to `FILE`", Value: base.Text(""), TakesFile: true},
			&cli.BoolFlag{Name: "explain", Usage: "explain how the figures were measured"},
		},
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			b := &bench{Session: r.Session(), target: r.Target(), Compare: r.Bool("compare"), Explain: r.Bool("explain")}
			b.SVG, _ = r.Text("svg")
			b.readSize(r)
			b.readNames(r)
			return b
		}),
	}
}

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

// readNames reads the collections and the namespace. The command line has to name both if the namespace is the user's, because
// the benchmark raises the counter by millions.
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

// Run prints the result, even if the measurement ended early. The error then includes the number of identifiers before it.
func (b *bench) Run(ctx context.Context) error {
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
		if len(scratch) > 0 {
			// Without the right to remove keys it fails here, before anything is written.
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

// measure returns the result and the load that it summarizes. Both are valid even if err is not nil.
func (b *bench) measure(ctx context.Context, o target.Opened, scratch []string) (found measured, got loadResult, err error) {
	allocators, sources, err := b.newSources(o)
	if err != nil {
		return found, got, err
	}
	if b.Warmup > 0 {
		if _, err := b.run(ctx, "warm-up", 0, b.Warmup, sources); err != nil {
			b.closeAll(ctx, allocators)
			return found, got, err
		}
	}
	warm := statsOf(allocators)
	got, err = b.run(ctx, "Next", b.Count, b.Duration, sources)
	held := statsOf(allocators)
	b.closeAll(ctx, allocators)
	found = measured{
		Namespace: b.Namespace, Workers: b.Workers, Allocators: b.Allocators, TargetRate: b.Rate, Warmup: b.Warmup.Seconds(),
		Seconds: got.elapsed.Seconds(), IDs: got.ids, PerSecond: got.perSecond(), CallsThatWaited: got.waits,
		Latency: got.latency, Sampling: got.sampling, Report: fleet.Between(b.Collections, warm, held, statsOf(allocators)),
	}
	found.Sampling.Clock = int64(clockCost())
	found.RoundTripsPerID = float64(found.Total.Ranges) / float64(max(got.ids, 1))
	found.BurntPerID = float64(found.Total.Burnt) / float64(max(got.ids, 1))
	if b.Compare && err == nil {
		var incr loadResult
		if incr, err = b.runIncr(ctx, o.Clients[0], scratch[0]); incr.ids > 0 {
			found.Compare = &compared{
				IDs: incr.ids, Seconds: incr.elapsed.Seconds(), PerSecond: incr.perSecond(), Ratio: got.perSecond() / incr.perSecond(),
				Failures: incr.failures, Latency: incr.latency,
			}
		}
	}
	found.Interrupted = ctx.Err() != nil
	return found, got, err
}

// newSources returns the allocators and one source per worker. The sources start at different collections.
func (b *bench) newSources(o target.Opened) (allocators []*allocator.Allocator, sources []source, err error) {
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

func statsOf(allocators []*allocator.Allocator) (all []allocator.Stats) {
	for _, a := range allocators {
		all = append(all, a.Stats())
	}
	return all
}

// runIncr runs the load with one INCR per identifier.
func (b *bench) runIncr(ctx context.Context, client *target.Client, key string) (loadResult, error) {
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
	// One deadline for all calls: setting one for each would add to the latency.
	ctx, cancel := context.WithTimeout(ctx, duration+2*b.Timeout)
	defer cancel()
	return b.run(ctx, "INCR", b.Count, duration, slices.Repeat([]source{increments}, b.Workers))
}

// run runs a load and shows its progress.
func (b *bench) run(ctx context.Context, what string, count int64, duration time.Duration, sources []source) (loadResult, error) {
	oneIn := sampleOneIn
	if b.Rate > 0 && b.Rate <= timedUpToRate || count > 0 && count <= timedUpToCount {
		oneIn = 1
	}
	l := newLoad(&load{Count: count, Duration: duration, Rate: b.Rate, Patience: b.Timeout, OneIn: oneIn}, sources)
	bar := b.live.NewBar(term.Progress{What: what, Unit: "ids", Total: count})
	defer bar.End()
	running, cancel := context.WithCancel(ctx)
	progress := []loadProgress{{}}
	var showing sync.WaitGroup
	showing.Go(func() {
		for base.Sleep(running, showEvery); running.Err() == nil; base.Sleep(running, showEvery) {
			p := l.snapshot()
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
	cancel()
	showing.Wait()
	result.progress = slices.Concat(progress, []loadProgress{result.loadProgress})
	return result, err
}

// closeAll closes the allocators concurrently, as separate processes would. It returns unused ranges even after ctx ended.
func (b *bench) closeAll(ctx context.Context, allocators []*allocator.Allocator) {
	var closing sync.WaitGroup
	for _, a := range allocators {
		closing.Go(func() { base.CloseAllocator(ctx, b.Session, a) })
	}
	closing.Wait()
}

// clean removes the keys. If that fails it returns the failure, or logs it if there is an earlier error to return.
func (b *bench) clean(ctx context.Context, client *target.Client, keys []string, earlier error) error {
	const atOnce = 1000
	for ; len(keys) > 0; keys = keys[min(atOnce, len(keys)):] {
		err := b.remove(context.WithoutCancel(ctx), client, keys[:min(atOnce, len(keys))])
		if err == nil {
			continue
		}
		left := fmt.Sprintf("the keys of the benchmark could not be removed (%s): %d, of which the first is %s; remove them with redis-cli",
			exit.Plain(err), len(keys), keys[0])
		if earlier == nil {
			return &exit.Error{Code: exit.Failed, Text: left, Cause: err}
		}
		b.Log.Warn("keys of the benchmark are left", zap.String("error", left))
		break
	}
	return earlier
}

func (b *bench) remove(ctx context.Context, client *target.Client, keys []string) error {
	ctx, cancel := context.WithTimeout(ctx, b.Timeout)
	defer cancel()
	return client.Del(ctx, keys...)
}
