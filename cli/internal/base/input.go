package base

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/hilo-id/hilo/cli/internal/exit"
)

// ReadFileOrStdin reads a file, or stdin for "-". name is its name for errors.
func ReadFileOrStdin(ctx context.Context, g *Session, file string) (content []byte, name string, err error) {
	read := func() ([]byte, error) { return os.ReadFile(file) }
	if name = file; file == "-" {
		name = "stdin"
		read = func() ([]byte, error) { return io.ReadAll(g.Stdin) }
	}
	content, err = await(ctx, read)
	if err != nil && ctx.Err() == nil {
		err = exit.Usagef("%q cannot be read: %s", file, reason(err))
	}
	return bytes.TrimPrefix(content, []byte(byteOrderMark)), name, err // which spreadsheets and editors write
}

// Confirm prints a question and reports whether the answer is yes. It fails if ctx ends first.
func Confirm(ctx context.Context, g *Session, question string) (bool, error) {
	fmt.Fprintf(g.Stderr, "%s [y/N] ", question)
	answer, err := await(ctx, func() (string, error) { return bufio.NewReader(g.Stdin).ReadString('\n') })
	if err != nil && err != io.EOF { //nolint:errorlint // bufio returns it unwrapped
		fmt.Fprintln(g.Stderr)
		return false, err
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes", nil
}

// await calls do, which may block for good, as a read from a terminal does, and returns when do or ctx ends. A call that is
// left behind ends with the process.
func await[T any](ctx context.Context, do func() (T, error)) (T, error) {
	var value, none T
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		value, err = do()
	}()
	select {
	case <-done:
		return value, err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// Sleep returns after d, or when ctx has ended.
func Sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
