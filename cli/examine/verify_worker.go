package examine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/prefix"
)

const flagAsWorker = "as-worker"

// reportEvery is how often a worker reports what it takes at a rate.
const reportEvery = 50 * time.Millisecond

// A trial and a worker exchange JSON values over two streams. The trial sends its settings, if the worker is a process, and an
// assignment when all workers are ready. The end of its stream ends the worker. The first message of a worker is empty and
// reports that it is ready. A message that is cut off because the worker was killed does not count.
type (
	assignment struct {
		IDs  int64
		Rate float64 // per second; 0 means full speed
	}
	message struct {
		Runs      []run                      // identifiers that were taken
		Err       *exit.Error                // a failed call or, with LastStats, why the worker ended; it has no cause
		LastStats *allocator.CollectionStats // sums over all collections, in the last message
	}
)

// worker takes identifiers for a trial by each of the library's calls. It parses and reports them.
type worker struct {
	*base.Session
	servers     target.Servers
	collections []string
	in          *json.Decoder
	out         *json.Encoder

	newest     map[string]prefix.ID // by collection
	text       []byte               // buffer
	identities *allocator.Allocator // issues values of the identity; nil means none
	identified time.Time            // when values of the identity were taken last
}

// readWorker returns a worker whose stdin and stdout lead to the trial that started the process. Settings replace the
// environment. They may hold passwords, so they are sent over the pipe only.
func readWorker(r *base.Reader) *worker {
	w := &worker{in: json.NewDecoder(r.Env.Stdin), out: json.NewEncoder(r.Env.Stdout)}
	var settings map[string]string
	if err := w.in.Decode(&settings); err != nil {
		r.Failf("%s: --%s is for processes that hilo verify starts", r.FullName(), flagAsWorker)
		return w
	}
	r.Env.LookupEnv = func(name string) (string, bool) { value, ok := settings[name]; return value, ok }
	w.Session, w.servers, w.collections = r.Session(), r.Servers(), r.Collections(base.DefaultCollection)
	return w
}

// Run takes identifiers until ctx or the worker's input ends.
func (w *worker) Run(ctx context.Context) error {
	last := message{LastStats: new(allocator.CollectionStats)}
	err := w.servers.Use(ctx, w.Timeout, func(o target.Opened) error {
		a, err := o.Allocator(base.Options(w.Session, o, base.WithoutReturned(w.Log)))
		if err != nil {
			return err
		}
		err = w.work(ctx, o, a)
		failures := sumOf(a.Stats()).Failures // without the refills that Close cancels
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.Timeout)
		defer cancel()
		_ = a.Close(closing) // numbers that it could not return are counted as burnt
		*last.LastStats = sumOf(a.Stats())
		last.LastStats.Failures = failures
		return err
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		last.Err = flatten(err)
	}
	return w.out.Encode(last)
}

// flatten returns err in a form that can be encoded.
func flatten(err error) *exit.Error {
	return &exit.Error{Code: exit.Code(err), Text: exit.Sentence(err)}
}

// work takes the assigned identifiers and waits for the end of its input, which is no error.
func (w *worker) work(ctx context.Context, o target.Opened, a *allocator.Allocator) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := w.out.Encode(message{}); err != nil {
		return err
	}
	var task assignment
	if err := w.in.Decode(&task); err != nil {
		return nil // the trial ended already
	}
	go func() {
		defer cancel()
		_ = w.in.Decode(new(assignment)) // blocks until the input ends
	}()
	w.newest = make(map[string]prefix.ID)
	if len(o.Targets) > 1 {
		w.identities = a
	}
	from := taker{
		Call: w.call,
		Sink: func(runs []run) error { return w.out.Encode(message{Runs: runs}) },
		Failed: func(err error) error {
			if !temporary(err) {
				return err
			}
			return w.out.Encode(message{Err: flatten(o.Explain(ctx, err))})
		},
	}
	if err := from.open(a, w.collections); err != nil {
		return err
	}
	l := load{Goroutines: 1, Count: task.IDs, Rate: task.Rate, Period: reportEvery, Batch: 4096, Take: from.takeAll}
	if task.Rate > 0 { // spread the workers over one interval
		base.Sleep(ctx, rand.N(time.Duration(float64(time.Second)/task.Rate)))
	}
	if task.IDs > 0 { // 0 is no limit of a load; the worker that it replaces had taken all
		l.begin()
		if err := l.run(ctx); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return nil
}

// temporary reports whether err may end by itself, when the trial makes lost settings again, or when a worker continues a counter
// that a server lost.
func temporary(err error) bool {
	return errors.Is(err, allocator.ErrUnavailable) || errors.Is(err, allocator.ErrNotDurable) ||
		errors.Is(err, allocator.ErrPrefixMissing) || errors.Is(err, allocator.ErrNotSeeded) || errors.Is(err, allocator.ErrIdentitiesElsewhere)
}

// maxTake limits the size of one call of Take.
const maxTake = 64

// call takes identifiers by a random call of the library.
func (w *worker) call(ctx context.Context, from *allocator.Collection, limit int64, note func(prefix.ID)) error {
	if took, err := w.takeIdentities(ctx, limit, note); took || err != nil {
		return err
	}
	if ctx.Err() == nil && rand.IntN(2) == 0 { // Take fails if ctx ended
		batch, err := from.Take(ctx, rand.N(min(limit, maxTake))+1)
		for text := range batch.All() {
			if err == nil {
				err = w.read(from.Name(), text, note)
			}
		}
		return err
	}
	var text string
	var err error
	switch rand.IntN(4) {
	case 0:
		id, err := from.NextID(ctx)
		if err == nil {
			w.newest[from.Name()] = id
			note(id)
		}
		return err
	case 1:
		w.text, err = from.AppendNext(ctx, w.text[:0])
		text = string(w.text)
	case 2:
		text, _ = from.TryNext()
	}
	if text == "" && err == nil { // TryNext had none in hand, or Next was chosen
		text, err = from.Next(ctx)
	}
	if err != nil {
		return err
	}
	return w.read(from.Name(), text, note)
}

// read parses the text of an identifier and notes it. Most texts continue the newest identifier, and comparing takes a tenth of
// the time of parsing.
func (w *worker) read(collection, text string, note func(prefix.ID)) error {
	id := w.newest[collection]
	id.Number++
	if w.text = id.Append(w.text[:0], w.Separator); string(w.text) != text {
		var err error
		id, err = prefix.Parse(text, w.Separator)
		if err == nil && id.Collection != collection {
			err = fmt.Errorf("its collection is %q", id.Collection)
		}
		if err != nil {
			return &exit.Error{Code: exit.Fault, Cause: err,
				Text: fmt.Sprintf("%q was issued, which is no identifier of %q (%s): please report this", text, collection, exit.Plain(err))}
		}
	}
	w.newest[collection] = id
	note(id)
	return nil
}

const (
	identityTimeout = 250 * time.Millisecond // short, because other identifiers wait while the home of identities is down
	identityEvery   = 50 * time.Millisecond
	maxIdentities   = 4 // of one call
)

// takeIdentities takes some values of the identity if the last ones are identityEvery ago. It returns no error while their home
// is down.
func (w *worker) takeIdentities(ctx context.Context, limit int64, note func(prefix.ID)) (took bool, err error) {
	if w.identities == nil || ctx.Err() != nil || time.Since(w.identified) < identityEvery {
		return false, nil
	}
	defer func() { w.identified = time.Now() }()
	ctx, cancel := context.WithTimeout(ctx, identityTimeout)
	defer cancel()
	got, err := w.identities.NextIdentities(ctx, identityName, rand.N(min(limit, maxIdentities))+1)
	if err != nil && (temporary(err) || ctx.Err() != nil) {
		return false, nil
	}
	for number := got.Low; number <= got.High && err == nil; number++ {
		note(prefix.ID{Collection: identityName, Number: number})
	}
	return err == nil, err
}
