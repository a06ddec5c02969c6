package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// workerMain runs a worker process and returns its exit code. It writes what it uses to its journal at once, without a buffer, so
// that no record is lost with the process. It closes its allocator on SIGTERM, and exits when its standard input ends, which
// happens when the test process does.
//
// Lines of the journal are "u SPACE LOW HIGH" for used numbers, "e UNIXNANO TEXT" for an error, and "c TEXT" for an error of
// Close.
func workerMain(text string) int {
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	journal, err := os.OpenFile(j.Journal, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	clients := j.clients()
	for ctx.Err() == nil {
		if err := j.session(ctx, journal, func() (taker, error) { return j.taker(clients) }); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return 0
}

// session opens an allocator, takes batches from it until ctx ends or the session has its number of batches, and closes it.
func (j job) session(ctx context.Context, journal io.Writer, open func() (taker, error)) error {
	ids, err := open()
	if err != nil {
		return err
	}
	for batches := 0; ctx.Err() == nil && (j.Session == 0 || batches < j.Session); batches++ {
		claims, err := ids.take(ctx, j.Batch)
		if ctx.Err() != nil {
			err = nil // terminated
		}
		if _, err := io.WriteString(journal, entry(claims, err)); err != nil {
			return err
		}
		if j.Pause > 0 {
			pass(j.Pause)
		}
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	if err := ids.close(within); err != nil {
		_, err = fmt.Fprintf(journal, "c %s\n", oneLine(err))
		return err
	}
	return nil
}

func entry(claims []claim, err error) string {
	var lines strings.Builder
	for _, c := range claims {
		fmt.Fprintf(&lines, "u %s %d %d\n", c.Space, c.Low, c.High)
	}
	if err != nil {
		fmt.Fprintf(&lines, "e %d %s\n", time.Now().UnixNano(), oneLine(err))
	}
	return lines.String()
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
