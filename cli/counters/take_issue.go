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

// idsAtOnce is the greatest number of identifiers taken with one call.
const idsAtOnce = 1000

// issue is a command that takes identifiers and prints them, one per line or as a JSON array.
type issue struct {
	*base.Session
	servers target.Servers
	alone   bool // one server issues them, so its error is the command's
	count   int64
	chunk   int64 // at most this many per take
	// take takes n identifiers, or none.
	take func(ctx context.Context, a *allocator.Allocator, n int64) ([]string, error)

	out     *bufio.Writer
	printed int64
}

func newIssue(r *base.Reader, count, chunk int64) *issue {
	i := &issue{Session: r.Session(), servers: r.Servers(), count: count, chunk: chunk}
	i.alone = len(i.servers.Targets) == 1
	return i
}

// Run prints the identifiers. Its error has the number of those printed before it, which stay issued.
func (i *issue) Run(ctx context.Context) error {
	i.out = bufio.NewWriter(i.Stdout)
	if i.alone { // of several servers one may be down without an error of the command
		i.Log = base.WithoutReturned(i.Log)
	}
	err := base.Allocate(ctx, i.Session, i.servers, 0, func(_ target.Opened, a *allocator.Allocator) error { return i.print(ctx, a) })
	if i.JSON && i.printed > 0 {
		i.out.WriteString("\n]\n") // after an error too, so that the output is valid
	}
	err = exit.After(err, i.printed)
	if broken := i.out.Flush(); broken != nil { // a bufio.Writer keeps its first error
		err = errors.Join(err, &exit.Error{Code: exit.Failed, Cause: broken, Text: fmt.Sprintf("the output broke off (%v): "+
			"%s had been taken, of which some may not have been written", broken, term.Plural(i.printed, "id"))})
	}
	return err
}

// print takes and prints identifiers chunk by chunk, so that an interruption wastes none.
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
			i.chunk = 1 // fewer than a chunk are left
		} else if err != nil {
			return err
		}
	}
	return nil
}

// write writes an identifier. Flush returns its error.
func (i *issue) write(id string) {
	if i.JSON {
		before := ",\n  "
		if i.printed == 0 {
			before = "[\n  "
		}
		quoted, _ := json.Marshal(id) // never fails for a string
		fmt.Fprintf(i.out, "%s%s", before, quoted)
	} else {
		fmt.Fprintln(i.out, id)
	}
	i.printed++
}
