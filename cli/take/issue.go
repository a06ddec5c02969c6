package take

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/cli/internal/term"
)

// idsAtOnce is how many identifiers are taken with one call where there is a choice.
const idsAtOnce = 1000

// issue takes identifiers and prints them.
type issue struct {
	*base.Session
	servers target.Servers
	count   int64
	chunk   int64 // at most so many with one take
	// take takes n identifiers and gives them, or none.
	take func(ctx context.Context, a *allocator.Allocator, n int64, give func(id string)) error
}

// Run says with an error how many were given before it: they stay given.
func (i issue) Run(ctx context.Context) error {
	out := idWriter{w: bufio.NewWriter(i.Stdout), json: i.JSON}
	err := base.Allocate(ctx, i.Session, i.servers, func(a *allocator.Allocator) error { return i.print(ctx, a, &out) })
	err = exit.After(err, out.n)
	if broken := out.w.Flush(); broken != nil { // a bufio.Writer keeps its first error
		err = errors.Join(err, &exit.Error{Code: exit.Failed, Cause: broken, Text: fmt.Sprintf("the output broke off (%v): "+
			"%s had been taken, of which some may not have been written", broken, term.Plural(out.n, "id"))})
	}
	return err
}

// print takes no more than it can print at once, so that what was taken is what was printed.
func (i issue) print(ctx context.Context, a *allocator.Allocator, out *idWriter) error {
	defer out.end()
	for out.n < i.count {
		if err := ctx.Err(); err != nil {
			return err
		}
		patient, cancel := context.WithTimeout(ctx, i.servers.Patience(i.Timeout))
		err := i.take(patient, a, min(i.chunk, i.count-out.n), out.id)
		cancel()
		if errors.Is(err, allocator.ErrExhausted) && i.chunk > 1 {
			i.chunk = 1 // fewer than a chunk are left, if any: they are given all the same
			continue
		}
		if err != nil {
			return err
		}
		if out.w.Flush() != nil {
			break
		}
	}
	return nil
}

// idWriter writes a line for each identifier, or one JSON array. Errors come with the flush.
type idWriter struct {
	w    *bufio.Writer
	json bool
	n    int64 // written so far
}

func (o *idWriter) id(id string) {
	before, after := "", "\n"
	if o.json {
		quoted, _ := json.Marshal(id) // of a string it does not fail
		if id, before, after = string(quoted), ",\n  ", ""; o.n == 0 {
			before = "[\n  "
		}
	}
	o.w.WriteString(before)
	o.w.WriteString(id)
	o.w.WriteString(after)
	o.n++
}

// end closes the array, if there is one, so that also what came before an error is valid.
func (o *idWriter) end() {
	if o.json && o.n > 0 {
		o.w.WriteString("\n]\n")
	}
}
