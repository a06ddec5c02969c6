package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
	"github.com/urfave/cli/v2"
	"go.uber.org/zap"

	"github.com/hilo-id/hilo/allocator"
)

// next allocates and prints identifiers.
type next struct {
	globals
	target     target
	Collection string
	Count      int64
}

func newNextCommand(env Env) *cli.Command {
	return command(&cli.Command{
		Name:      "next",
		Usage:     "take identifiers of a collection",
		UsageText: "hilo next COLLECTION [--count N]",
		Description: describe(`
Prints identifiers that were never given before, one a line, and returns what it
reserved and did not need. As JSON it prints one array of strings. When it is
interrupted, what it printed stays given.`,
			[]string{
				"hilo next orders",
				"hilo next orders --count 1000 --redis redis://cache.example:6379/0",
			},
			"1 failed or interrupted", "3 Redis unavailable", "4 the counter is exhausted, or the name is taken by an identity"),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "count", Usage: "take `N` identifiers", Value: "1", DefaultText: "1"},
		},
		Action: func(c *cli.Context) error {
			n := next{}
			var err error
			if n.globals, n.target, err = readServer(c, env); err != nil {
				return err
			}
			if n.Collection, err = takeCollection(c, n.Separator); err != nil {
				return err
			}
			if n.Count, err = parseNumber("count", c.String("count"), 1); err != nil {
				return err
			}
			return n.Run(c.Context)
		},
	})
}

func (n next) Run(ctx context.Context) error {
	return n.target.use(ctx, n.Timeout, func(client redis.UniversalClient) (err error) {
		a, err := allocator.New(client, allocator.Options{
			Namespace:     n.Namespace,
			Separator:     n.Separator,
			RefillTimeout: n.Timeout,
			Logger:        withoutReturned(n.Log),
		})
		if err != nil {
			return err
		}
		defer n.close(ctx, a)
		collection, err := a.Collection(n.Collection)
		if err != nil {
			return err
		}
		return n.print(ctx, collection)
	})
}

// print takes no more than it can print at once, so that what was taken is what was printed.
func (n next) print(ctx context.Context, collection *allocator.Collection) error {
	chunk := int64(1000)
	out := idWriter{w: bufio.NewWriter(n.Stdout), json: n.JSON}
	var taken int64
	for taken < n.Count {
		batch, err := n.take(ctx, collection, min(chunk, n.Count-taken))
		if errors.Is(err, allocator.ErrExhausted) && chunk > 1 {
			chunk = 1 // fewer than a chunk are left, if any: they are given all the same
			continue
		}
		if err != nil {
			return errors.Join(interrupted(err, taken), out.end())
		}
		taken += batch.Len()
		for id := range batch.All() {
			out.id(id)
		}
		if err := out.w.Flush(); err != nil {
			return lost(err, taken)
		}
	}
	return lost(out.end(), taken)
}

func (n next) take(ctx context.Context, collection *allocator.Collection, count int64) (allocator.Batch, error) {
	if err := ctx.Err(); err != nil {
		return allocator.Batch{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, n.Timeout)
	defer cancel()
	return collection.Take(ctx, count)
}

// close returns what was not used, also after an interruption.
func (n next) close(ctx context.Context, a *allocator.Allocator) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), n.Timeout)
	defer cancel()
	if err := a.Close(ctx); err != nil {
		n.Log.Warn("numbers that were not needed could not be returned, and are a gap now", zap.Error(err))
	}
}

func interrupted(err error, taken int64) error {
	if errors.Is(err, context.Canceled) {
		return &failure{code: exitFailed, text: fmt.Sprintf("interrupted after %s", ids(taken)), cause: err}
	}
	return err
}

func lost(err error, taken int64) error {
	if err == nil {
		return nil
	}
	return &failure{code: exitFailed, cause: err, text: fmt.Sprintf("the output broke off (%v): %s had been taken, "+
		"of which some may not have been written", err, ids(taken))}
}

func ids(n int64) string {
	if n == 1 {
		return "1 id"
	}
	return fmt.Sprintf("%d ids", n)
}

// idWriter writes a line for each identifier, or one JSON array. Errors come with the flush.
type idWriter struct {
	w     *bufio.Writer
	json  bool
	begun bool
}

func (o *idWriter) id(id string) {
	if o.json {
		text, err := json.Marshal(id)
		if err != nil {
			panic("bug: a string that is no JSON: " + err.Error())
		}
		if o.begun {
			o.w.WriteString(",\n  ")
		} else {
			o.w.WriteString("[\n  ")
		}
		o.w.Write(text)
	} else {
		o.w.WriteString(id)
		o.w.WriteByte('\n')
	}
	o.begun = true
}

// end closes the array, if there is one, so that also what came before an error is valid.
func (o *idWriter) end() error {
	if o.json && o.begun {
		o.w.WriteString("\n]\n")
	}
	return o.w.Flush()
}
