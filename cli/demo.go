package cli

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
)

// demo has a fleet of workers take identifiers from a server in this process, and proves that none was given twice.
type demo struct {
	globals
	Workers     int
	Collections []string
	Each        int   // identifiers that one worker takes, of the collections in turn
	MaxCapacity int64 // of a range: short of the allocator's own, since a fleet that stops within a second has no use for more
}

// outcome is what the demo found.
type outcome struct {
	Workers     int             `json:"workers"`
	IDs         int             `json:"ids"`
	Seconds     float64         `json:"seconds"`
	PerSecond   int             `json:"perSecond"`
	Samples     []string        `json:"samples"` // the first of each worker
	Collections []demonstration `json:"collections"`
	Duplicates  int             `json:"duplicates"`
}

// demonstration is what it found about one collection.
type demonstration struct {
	Collection string `json:"collection"`
	IDs        int64  `json:"ids"`
	Ranges     int64  `json:"ranges"`
	Returned   int64  `json:"returned"` // numbers that workers reserved, did not need, and gave back
	Max        int64  `json:"max"`
	Unused     int64  `json:"unused"` // numbers up to Max that nobody was given: the gaps
}

func newDemoCommand(env Env) *cli.Command {
	return command(&cli.Command{
		Name:      "demo",
		Usage:     "see it work, with nothing installed",
		UsageText: "hilo demo",
		Description: describe(`
Runs a server in this process and a fleet of workers, each with an allocator of its
own as separate programs would have; takes 200,000 identifiers of three collections;
and shows samples, the speed, what it cost, and the proof that none was given twice.`,
			[]string{"hilo demo", "hilo demo --output json"},
			"1 failed or interrupted", "5 an identifier was given twice"),
		Action: func(c *cli.Context) error {
			if _, err := takeArguments(c); err != nil {
				return err
			}
			g, err := readServerless(c, env)
			if err != nil {
				return err
			}
			return demo{
				globals:     g,
				Workers:     8,
				Collections: []string{"orders", "companies", "products"},
				Each:        25_000,
				MaxCapacity: 256,
			}.Run(c.Context)
		},
	})
}

func (d demo) Run(ctx context.Context) error {
	embedded := target{embedded: true, addr: "the embedded server"}
	return embedded.use(ctx, d.Timeout, func(client redis.UniversalClient) error {
		m, err := allocator.NewAdmin(client, d.Namespace)
		if err != nil {
			return err
		}
		if err := m.SetServerPrefix(ctx, prefix.Server{ServerPrefix: "NorthServer/"}); err != nil {
			return err
		}
		start := time.Now()
		fleet, err := d.fleet(ctx, client)
		if err != nil {
			return err
		}
		found, err := d.judge(ctx, m, fleet, time.Since(start))
		if err != nil {
			return err
		}
		if err := d.show(found); err != nil {
			return err
		}
		return verdict(found)
	})
}

func verdict(found outcome) error {
	if found.Duplicates > 0 {
		return &failure{code: exitFault, text: fmt.Sprintf("%d identifiers were given twice: please report this", found.Duplicates)}
	}
	return nil
}

// worker is one of the fleet, and what it was given.
type worker struct {
	ids   []string
	stats allocator.Stats
	err   error
}

func (d demo) fleet(ctx context.Context, client redis.UniversalClient) ([]worker, error) {
	fleet := make([]worker, d.Workers)
	var running sync.WaitGroup
	for i := range fleet {
		running.Go(func() { fleet[i].err = d.work(ctx, client, &fleet[i]) })
	}
	running.Wait()
	for _, w := range fleet {
		if w.err != nil {
			return nil, w.err
		}
	}
	return fleet, nil
}

// work is what a program that needs identifiers does.
func (d demo) work(ctx context.Context, client redis.UniversalClient, w *worker) error {
	a, err := allocator.New(client, allocator.Options{
		Namespace:   d.Namespace,
		Separator:   d.Separator,
		MaxCapacity: d.MaxCapacity,
		Logger:      d.Log,
	})
	if err != nil {
		return err
	}
	w.ids = make([]string, d.Each)
	for i := range w.ids {
		if err := ctx.Err(); err != nil { // with numbers in hand, Next does not ask
			return d.close(ctx, a, err)
		}
		if w.ids[i], err = a.Next(ctx, d.Collections[i%len(d.Collections)]); err != nil {
			return d.close(ctx, a, err)
		}
	}
	err = d.close(ctx, a, nil)
	w.stats = a.Stats()
	return err
}

func (d demo) close(ctx context.Context, a *allocator.Allocator, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.Timeout)
	defer cancel()
	if closed := a.Close(ctx); err == nil {
		return closed
	}
	return err
}

// judge counts, from the identifiers themselves and from what stands in Redis.
func (d demo) judge(ctx context.Context, m *allocator.Admin, fleet []worker, took time.Duration) (outcome, error) {
	found := outcome{Workers: d.Workers, Seconds: took.Seconds()}
	var all []string
	for _, w := range fleet {
		all = append(all, w.ids...)
		found.Samples = append(found.Samples, w.ids[0])
	}
	found.IDs = len(all)
	found.PerSecond = int(float64(found.IDs) / took.Seconds())
	found.Duplicates = duplicates(all)
	for _, name := range d.Collections {
		counter, err := m.Counter(ctx, name)
		if err != nil {
			return found, err
		}
		about := demonstration{Collection: name, Ranges: counter.Ranges, Max: counter.Max}
		for _, w := range fleet {
			for _, s := range w.stats.Collections {
				if s.Name == name {
					about.IDs += s.Issued
					about.Returned += s.Returned
				}
			}
		}
		about.Unused = counter.Max - about.IDs
		found.Collections = append(found.Collections, about)
	}
	return found, nil
}

// duplicates is how many of the texts are there already. It sorts them.
func duplicates(texts []string) int {
	slices.Sort(texts)
	return len(texts) - len(slices.Compact(texts))
}

func (d demo) show(found outcome) error {
	if d.JSON {
		return d.writeJSON(found)
	}
	w := tabwriter.NewWriter(d.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%d workers share one server, which adds NorthServer/ to each identifier.\n\n", found.Workers)
	for i, id := range found.Samples {
		fmt.Fprintf(w, "worker %d begins with\t%s\n", i+1, id)
	}
	fmt.Fprintf(w, "\nCOLLECTION\tIDS\tROUND TRIPS\tRETURNED\tMAX\tNEVER USED\n")
	var ranges int64
	for _, c := range found.Collections {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\n", c.Collection, c.IDs, c.Ranges, c.Returned, c.Max, c.Unused)
		ranges += c.Ranges
	}
	fmt.Fprintf(w, "\n%d ids in %.2f s, %d a second, one round trip for %d of them.\n",
		found.IDs, found.Seconds, found.PerSecond, int64(found.IDs)/max(ranges, 1))
	fmt.Fprintf(w, "%d duplicates, counted over all of them.\n", found.Duplicates)
	fmt.Fprint(w, "What a worker holds when it ends goes back while it is the newest; else it is never used.\n")
	return written(w.Flush())
}
