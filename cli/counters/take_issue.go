package counters

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

// issue takes identifiers and prints them: a line for each, or one JSON array.
type issue struct {
	*base.Session
	servers target.Servers
	alone   bool // one server issues them: its error is the command's
	count   int64
	chunk   int64 // at most so many with one take
	// take takes n identifiers, or none.
	take func(ctx context.Context, a *allocator.Allocator, n int64) ([]string, error)

	out     *bufio.Writer
	printed int64 // so far
}

func newIssue(r *base.Reader, count, chunk int64) *issue {
	i := &issue{Session: r.Session(), servers: r.Servers(), count: count, chunk: chunk}
	i.alone = len(i.servers.Targets) == 1
	return i
}

// Run prints the ids. Its error states how many were printed before it: they remain issued.
func (i *issue) Run(ctx context.Context) error {
	i.out = bufio.NewWriter(i.Stdout)
	if i.alone { // with several, that one is down need not come back as the command's error
		i.Log = base.WithoutReturned(i.Log)
	}
	err := base.Allocate(ctx, i.Session, i.servers, func(_ target.Opened, a *allocator.Allocator) error { return i.print(ctx, a) })
	if i.JSON && i.printed > 0 {
		i.out.WriteString("\n]\n") // so that also what came before an error is valid
	}
	err = exit.After(err, i.printed)
	if broken := i.out.Flush(); broken != nil { // a bufio.Writer keeps its first error
		err = errors.Join(err, &exit.Error{Code: exit.Failed, Cause: broken, Text: fmt.Sprintf("the output broke off (%v): "+
			"%s had been taken, of which some may not have been written", broken, term.Plural(i.printed, "id"))})
	}
	return err
}

// print takes no more than it can print at once, so that what was taken is what was printed.
func (i *issue) print(ctx context.Context, a *allocator.Allocator) error {
	for i.printed < i.count && i.out.Flush() == nil { // Run reports a failed write
		if err := ctx.Err(); err != nil {
			return err
		}
		attempt, cancel := context.WithTimeout(ctx, i.servers.Patience(i.Timeout))
		ids, err := i.take(attempt, a, min(i.chunk, i.count-i.printed))
		cancel()
		for _, id := range ids {
			i.write(id)
		}
		if errors.Is(err, allocator.ErrExhausted) && i.chunk > 1 {
			i.chunk = 1 // fewer than a chunk are left, if any: they are issued all the same
		} else if err != nil {
			return err
		}
	}
	return nil
}

// write writes an identifier. Errors come with the flush.
func (i *issue) write(id string) {
	if i.JSON {
		before := ",\n  "
		if i.printed == 0 {
			before = "[\n  "
		}
		quoted, _ := json.Marshal(id) // of a string it does not fail
		fmt.Fprintf(i.out, "%s%s", before, quoted)
	} else {
		fmt.Fprintln(i.out, id)
	}
	i.printed++
}
