package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/hilo-id/hilo/allocator"
)

// idsAtOnce is how many identifiers are taken with one call where there is a choice.
const idsAtOnce = 1000

// takeFunc takes n identifiers, or none.
type takeFunc func(ctx context.Context, a *allocator.Allocator, n int64) (iter.Seq[string], error)

// issue takes identifiers and prints them.
type issue struct {
	globals
	servers servers
	count   int64
	chunk   int64 // at most so many with one take
	take    takeFunc
}

// Run says with an error how many were given before it: they stay given.
func (i issue) Run(ctx context.Context) error {
	out := idWriter{w: bufio.NewWriter(i.Stdout), json: i.JSON}
	err := i.allocate(ctx, i.servers, func(a *allocator.Allocator) error { return i.print(ctx, a, &out) })
	// A bufio.Writer keeps its first error.
	return errors.Join(after(err, out.n), lost(out.w.Flush(), out.n))
}

// print takes no more than it can print at once, so that what was taken is what was printed.
func (i issue) print(ctx context.Context, a *allocator.Allocator, out *idWriter) error {
	defer out.end()
	chunk := i.chunk
	for out.n < i.count {
		batch, err := i.taken(ctx, a, min(chunk, i.count-out.n))
		if errors.Is(err, allocator.ErrExhausted) && chunk > 1 {
			chunk = 1 // fewer than a chunk are left, if any: they are given all the same
			continue
		}
		if err != nil {
			return err
		}
		for id := range batch {
			out.id(id)
		}
		if out.w.Flush() != nil {
			break
		}
	}
	return nil
}

func (i issue) taken(ctx context.Context, a *allocator.Allocator, n int64) (iter.Seq[string], error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, i.servers.patience(i.Timeout))
	defer cancel()
	return i.take(ctx, a, n)
}

// after is err with what had been given before it.
func after(err error, given int64) error {
	switch {
	case errors.Is(err, context.Canceled):
		return &failure{code: exitFailed, text: "interrupted after " + ids(given), cause: err}
	case err == nil || given == 0:
		return err
	}
	return &failure{code: exitCode(err), text: fmt.Sprintf("after %s: %s", ids(given), plain(err)), cause: err}
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
	w    *bufio.Writer
	json bool
	n    int64 // written so far
}

func (o *idWriter) id(id string) {
	if o.json {
		text, err := json.Marshal(id)
		if err != nil {
			panic("bug: a string that is no JSON: " + err.Error())
		}
		if o.n > 0 {
			o.w.WriteString(",\n  ")
		} else {
			o.w.WriteString("[\n  ")
		}
		o.w.Write(text)
	} else {
		o.w.WriteString(id)
		o.w.WriteByte('\n')
	}
	o.n++
}

// end closes the array, if there is one, so that also what came before an error is valid.
func (o *idWriter) end() {
	if o.json && o.n > 0 {
		o.w.WriteString("\n]\n")
	}
}
