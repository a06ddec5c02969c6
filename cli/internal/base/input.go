package base

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"

	"github.com/hilo-id/hilo/cli/internal/exit"
)

// ReadFileOrStdin reads a text file, or stdin for "-", and returns it as UTF-8. It may be UTF-16 with a byte order mark, which
// PowerShell writes. name is its name for errors.
func ReadFileOrStdin(ctx context.Context, g *Session, file string) (content []byte, name string, err error) {
	read := func() ([]byte, error) { return os.ReadFile(file) }
	if name = file; file == "-" {
		name = "stdin"
		read = func() ([]byte, error) { return io.ReadAll(g.Stdin) }
	}
	content, err = await(ctx, read)
	if err != nil && ctx.Err() == nil {
		err = exit.Usagef("%q cannot be read: %s", file, Reason(err))
	}
	if err != nil {
		return nil, name, err
	}
	content, err = toUTF8(content)
	if err != nil {
		err = exit.Usagef("%s: nothing was written: %s", name, err)
	}
	return content, name, err
}

// toUTF8 removes a byte order mark, which spreadsheets and editors write, and decodes UTF-16 if the mark is of that.
func toUTF8(content []byte) ([]byte, error) {
	if !bytes.HasPrefix(content, []byte("\xff\xfe")) && !bytes.HasPrefix(content, []byte("\xfe\xff")) {
		return bytes.TrimPrefix(content, []byte(byteOrderMark)), nil
	}
	text, err := unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder().Bytes(content) // in the order that the mark shows
	if err != nil || bytes.ContainsRune(text, utf8.RuneError) {
		return nil, errors.New("is not valid UTF-16, of which it has the byte order mark; save it as UTF-8")
	}
	return text, nil
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
