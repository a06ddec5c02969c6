package examine

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"
	"go.uber.org/zap"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/cli/internal/term"
	"github.com/hilo-id/hilo/prefix"
)

// bench measures the rate and the latency of Next.
type bench struct {
	*base.Session
	target     target.Target
	Collection string
	Workers    int
	Count      int64         // identifiers in total; 0 means no limit
	Duration   time.Duration // 0 means no limit
	Warmup     time.Duration // load before the measurement
	Rate       int64         // identifiers per second in total; 0 means full speed
	Keep       bool          // keep the key, because the namespace is the user's
	live       *term.Live
	watch      func(p loadProgress) // receives the progress in tests; may be nil
}

const (
	scratchNamespace = "hilo-bench-" // followed by random letters

	showEvery = 100 * time.Millisecond

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
		UsageText: "hilo bench [COLLECTION] [--duration D | --count N] [--warmup D] [--rate R] [--workers N]",
		Description: base.Describe(`
Runs workers that share one allocator. Prints the rate, the number of ranges (one round
trip each), percentiles of the latency, and what was reserved, issued, returned and burnt.

bench uses a namespace of its own, {hilo-bench-…}, without Durable, and removes its keys
at the end; kill -9 leaves them. $HILO_NAMESPACE has no effect. With --namespace NAME it
uses that one with its settings, and needs a COLLECTION, whose counter stays raised.

At full speed one call in 100 is timed, and each that found no number in hand; with --rate
up to 1000000, or --count up to 100000, all are. At full speed a worker that waits starts
no other call, which hides waits (coordinated omission). With --rate each call has a due
time from which it is timed. With --warmup ranges have grown before the measurement.`,
			[]string{
				"hilo bench",
				"hilo bench --workers 64 --redis redis://cache.example:6379/0",
				"hilo bench --rate 50000 --duration 30s --output json",
			},
			"1 failed or interrupted", "3 Redis unavailable", "4 the counter is exhausted, or the name is taken by an identity"),
		Flags: base.OneServerFlags(
			&cli.GenericFlag{Name: "duration", Usage: "measure for `D`", Value: base.Duration("", 0), DefaultText: "5s"},
			&cli.GenericFlag{Name: "count", Aliases: []string{"n"}, Usage: "take `N` identifiers in all, without a time limit", Value: base.Count("", 1)},
			&cli.GenericFlag{Name: "warmup", Usage: "run the load for `D` before the measurement", Value: base.Duration("", 0)},
			&cli.GenericFlag{Name: "rate", Usage: "take `R` identifiers a second in all", Value: base.Number("", 1, base.MostRate), DefaultText: "full speed"},
			&cli.GenericFlag{Name: "workers", Usage: "`N` goroutines", Value: base.Number("8", 1, base.MostWorkers)},
		),
		Action: base.Action(env, readBench),
	}
}

// readBench reads the command line, which has to name both namespace and collection if the namespace is the user's, because
// the benchmark raises the counter by millions.
func readBench(r *base.Reader) base.Runner {
	b := &bench{Session: r.Session(), target: r.Target(), Collection: base.DefaultCollection}
	b.Workers, b.Rate, b.Warmup = int(r.Number("workers")), r.Number("rate"), r.Period("warmup")
	if r.IsSet("count") && r.IsSet("duration") {
		r.Failf("--count and --duration exclude each other: remove one of them")
	}
	b.Count, b.Duration = r.Number("count"), r.Period("duration")
	if b.Count == 0 && b.Duration == 0 {
		b.Duration = 5 * time.Second
	}
	if b.Keep = r.IsSet(base.FlagNamespace); !b.Keep {
		b.Namespace = scratchNamespace + strings.ToLower(crand.Text())
	}
	switch {
	case r.Args().Present():
		b.Collection = r.Collection(b.Separator)
	case b.Keep:
		r.Failf("%s --namespace needs a COLLECTION, whose counter is then raised by all that is issued", r.FullName())
	}
	return b
}

// Run prints the result, even if the measurement ended early. The error then includes the number of identifiers before it.
func (b *bench) Run(ctx context.Context) error {
	var issued int64
	b.live = b.GoLive()
	err := b.target.Alone().Use(ctx, b.Timeout, func(o target.Opened) (err error) {
		if !b.Keep {
			client, keys := o.Clients[0], prefix.NewKeys(b.Namespace)
			own := []string{keys.HiLo(b.Collection), keys.Server()}
			// Without the right to remove keys it fails here, before anything is written.
			if err := b.remove(ctx, client, own); err != nil {
				return exit.OfRedis(err)
			}
			defer func() { err = b.clean(ctx, client, own, err) }()
			if err := b.setUp(ctx, client); err != nil {
				return err
			}
		}
		found, err := b.measure(ctx, o)
		if issued = found.IDs; issued == 0 && err != nil {
			return err
		}
		return cmp.Or(b.Show(found, func() error { return b.print(found) }), err)
	})
	return exit.After(err, issued)
}

// setUp makes the settings of the benchmark's namespace.
func (b *bench) setUp(ctx context.Context, client *target.Client) error {
	operator, err := admin.New(client.Redis, admin.Options{Namespace: b.Namespace})
	if err != nil {
		return err
	}
	return operator.Init(ctx, prefix.Server{})
}

// measure returns the result, which is valid even if err is not nil.
func (b *bench) measure(ctx context.Context, o target.Opened) (found measured, err error) {
	ids, err := allocator.New(o.Clients[0].Redis, base.Options(b.Session, o, base.WithoutReturned(b.Log)))
	if err != nil {
		return found, err
	}
	from, err := ids.Collection(b.Collection)
	if err != nil {
		return found, err
	}
	var got loadResult
	if b.Warmup > 0 {
		_, err = b.run(ctx, "warm-up", 0, b.Warmup, from)
	}
	warm := ids.Stats()
	if err == nil {
		got, err = b.run(ctx, "Next", b.Count, b.Duration, from)
	}
	held := ids.Stats()
	base.CloseAllocator(ctx, b.Session, ids) // returns unused ranges even after ctx ended
	found = measured{
		Namespace: b.Namespace, Workers: b.Workers, TargetRate: b.Rate, Warmup: b.Warmup.Seconds(),
		Seconds: got.elapsed.Seconds(), IDs: got.ids, PerSecond: got.perSecond(), CallsThatWaited: got.waits,
		Latency: got.latency, Sampling: got.sampling, Total: talliesOf(warm, held, ids.Stats()),
	}
	found.Collections = []collectionTallies{{b.Collection, found.Total}}
	found.Sampling.Clock = int64(clockCost())
	found.RoundTripsPerID = float64(found.Total.Ranges) / float64(max(got.ids, 1))
	found.BurntPerID = float64(found.Total.Burnt) / float64(max(got.ids, 1))
	found.Interrupted = ctx.Err() != nil
	return found, err
}

// run runs a load and shows its progress.
func (b *bench) run(ctx context.Context, what string, count int64, duration time.Duration, from issuer) (loadResult, error) {
	oneIn := sampleOneIn
	if b.Rate > 0 && b.Rate <= timedUpToRate || count > 0 && count <= timedUpToCount {
		oneIn = 1
	}
	l := &timedLoad{
		load: load{Goroutines: b.Workers, Count: count, Duration: duration, Rate: float64(b.Rate)},
		From: from, Patience: b.Timeout, OneIn: oneIn,
	}
	l.begin()
	bar := b.live.NewBar(term.Progress{What: what, Unit: "ids", Total: count})
	defer bar.End()
	running, cancel := context.WithCancel(ctx)
	var showing sync.WaitGroup
	showing.Go(func() {
		for base.Sleep(running, showEvery); running.Err() == nil; base.Sleep(running, showEvery) {
			p := l.snapshot()
			share := p.elapsed.Seconds() / cmp.Or(duration, math.MaxInt64).Seconds()
			bar.Set(p.ids, share, term.Style{Group: true}.Plural(p.waits, "wait"))
			if b.watch != nil {
				b.watch(p)
			}
		}
	})
	result, err := l.measure(ctx)
	cancel()
	showing.Wait()
	return result, err
}

// clean removes the keys. If that fails it returns the failure, or logs it if there is an earlier error to return.
func (b *bench) clean(ctx context.Context, client *target.Client, keys []string, earlier error) error {
	err := b.remove(context.WithoutCancel(ctx), client, keys)
	if err == nil {
		return earlier
	}
	left := fmt.Sprintf("the keys of the benchmark, %s, could not be removed (%s); remove them with redis-cli", strings.Join(keys, " and "), exit.Plain(err))
	if earlier == nil {
		return &exit.Error{Code: exit.Failed, Text: left, Cause: err}
	}
	b.Log.Warn("the keys of the benchmark are left", zap.String("error", left))
	return earlier
}

func (b *bench) remove(ctx context.Context, client *target.Client, keys []string) error {
	ctx, cancel := context.WithTimeout(ctx, b.Timeout)
	defer cancel()
	return client.Redis.Del(ctx, keys...).Err()
}
