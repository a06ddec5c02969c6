package cli

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/allocator"
)

// proofWorker takes identifiers for a proof, as a program does, and reports each of them.
type proofWorker struct {
	globals
	servers     servers
	collections []string
	in          *bufio.Reader // how many more it may take
	out         *bufio.Writer

	opened opened
	taker  taker
	grants chan int64
}

const (
	batchSize = 4096 // identifiers, after which they are reported
	takeSize  = 16   // of one call of Take

	// askAgainAfter is how long a worker waits that got none: as a program would, which does not ask again at once.
	askAgainAfter = 100 * time.Millisecond
)

// runProofWorker is a worker process. It speaks with the proof that started it over stdin and stdout, and knows nothing
// of flags and environment.
func runProofWorker(c *cli.Context, env Env) error {
	w := proofWorker{in: bufio.NewReader(env.Stdin), out: bufio.NewWriter(env.Stdout)}
	_, body, err := readFrame(w.in)
	if err != nil {
		return usagef("%s: --%s is for processes that hilo verify starts", c.Command.HelpName, flagAsWorker)
	}
	var job assignment
	if err := json.Unmarshal(body, &job); err != nil {
		return err
	}
	env.LookupEnv = func(name string) (string, bool) { value, ok := job.Settings[name]; return value, ok }
	w.collections = job.Collections
	if w.globals, w.servers, err = readServers(c, env); err != nil {
		return err
	}
	return w.Run(c.Context)
}

// Run is a worker's life. It ends with ctx or with in, whichever is first.
func (w *proofWorker) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w.grants = make(chan int64, 16)
	go w.listen(ctx, cancel)
	var bye farewell
	err := w.servers.use(ctx, w.Timeout, func(o opened) error {
		w.opened = o
		opts := o.options(w.globals)
		opts.Logger = withoutReturned(w.Log)
		a, err := o.allocator(opts)
		if err != nil {
			return err
		}
		err = w.work(ctx, a)
		failures := tallied(a.Stats()).Failures // a refill that Close calls off is none
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.Timeout)
		defer cancel()
		_ = a.Close(closing) // what it could not return is burnt, and counted so
		bye = tallied(a.Stats())
		bye.Failures = failures
		return err
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		bye.Code, bye.Text = exitCode(err), plain(err)+remedy(err)
	}
	writeJSONFrame(w.out, frameEnd, bye)
	return w.out.Flush()
}

// listen hands on what the worker may take, until there is nobody to listen to.
func (w *proofWorker) listen(ctx context.Context, cancel func()) {
	defer cancel()
	for {
		n, err := binary.ReadUvarint(w.in)
		if err != nil {
			return
		}
		select {
		case w.grants <- int64(n):
		case <-ctx.Done():
			return
		}
	}
}

func tallied(stats allocator.Stats) (bye farewell) {
	for _, s := range stats.Collections {
		bye.Ranges += s.Ranges
		bye.Reserved += s.Reserved
		bye.Issued += s.Issued
		bye.Returned += s.Returned
		bye.Burnt += s.Burnt
		bye.Waits += s.Waits
		bye.Failures += s.Failures
		bye.Jumps += s.Jumps
	}
	return bye
}

// work takes what it may take, until it is told to end, which is no error.
func (w *proofWorker) work(ctx context.Context, a *allocator.Allocator) error {
	w.taker = taker{separator: w.Separator, out: w.out}
	for _, name := range w.collections {
		c, err := a.Collection(name)
		if err != nil {
			return err
		}
		w.taker.streams = append(w.taker.streams, &stream{from: c})
	}
	writeFrame(w.out, frameReady, nil)
	if err := w.out.Flush(); err != nil {
		return err
	}
	var left int64
	for ctx.Err() == nil {
		if left == 0 {
			select {
			case n := <-w.grants:
				left += n
			case <-ctx.Done():
			}
			continue
		}
		took, err := w.taker.batch(ctx, min(left, batchSize))
		left -= took
		if err == nil || ctx.Err() != nil {
			continue
		}
		if err := w.bear(ctx, err); err != nil {
			return err
		}
	}
	return nil
}

// bear waits a while where a server is of no use for now, and gives back any other error.
func (w *proofWorker) bear(ctx context.Context, err error) error {
	if !errors.Is(err, allocator.ErrUnavailable) && !errors.Is(err, allocator.ErrNotDurable) &&
		!errors.Is(err, allocator.ErrPrefixMissing) { // the proof restores it
		return err
	}
	err = w.opened.explain(ctx, err)
	writeJSONFrame(w.out, frameTrouble, farewell{Code: exitCode(err), Text: plain(err) + remedy(err)})
	if err := w.out.Flush(); err != nil {
		return err
	}
	timer := time.NewTimer(askAgainAfter)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil
}
