package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// isTerminal reports whether stream, a reader or a writer, is a person's terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) //nolint:gosec // a file descriptor is a small number
}

// columns is how wide the terminal is; 0: w is none, and nothing has to fit.
func columns(w io.Writer) int {
	if !isTerminal(w) {
		return 0
	}
	width, _, err := term.GetSize(int(w.(*os.File).Fd())) //nolint:gosec,forcetypeassert // isTerminal has seen it
	if err != nil {
		return 0
	}
	return width
}

// interactive reports whether a question would be read by somebody who can answer it.
func (g globals) interactive() bool { return isTerminal(g.Stdin) && isTerminal(g.Stderr) }

// confirm asks a question whose answer is no unless it is yes. Its error is that ctx ended first.
func (g globals) confirm(ctx context.Context, question string) (bool, error) {
	fmt.Fprintf(g.Stderr, "%s [y/N] ", question)
	answer, err := read(ctx, func() (string, error) { return bufio.NewReader(g.Stdin).ReadString('\n') })
	if err != nil && err != io.EOF { //nolint:errorlint // as bufio gives it
		fmt.Fprintln(g.Stderr)
		return false, err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}

// read does a read that may block for good, as one from a terminal does, until ctx ends. It is then left behind: the
// process is about to end.
func read[T any](ctx context.Context, do func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		value, err := do()
		done <- outcome{value, err}
	}()
	select {
	case got := <-done:
		return got.value, got.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
