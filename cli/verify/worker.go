package verify

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
	"github.com/hilo-id/hilo/cli/internal/fleet"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/prefix"
)

const flagAsWorker = "as-worker"

// A proof and its workers send each other values as JSON over two streams. The proof sends its settings, to a process, and
// a share when all are ready; the end of its stream tells the worker to end. The worker sends words, of which the first is
// empty: it is ready. One that is killed in the middle of a word leaves half of it, which counts for nothing.
type (
	// share is what a worker is to take.
	share struct {
		IDs  int64
		Rate float64 // a second; 0: as many as there can be
	}
	// word is what a worker says.
	word struct {
		Runs []fleet.Run                // it was given; from now on they count
		Why  *exit.Error                // it got none just now, or ended by itself; without a cause
		Bye  *allocator.CollectionStats // sums over all collections: its last word
	}
)

// worker takes identifiers for a proof, as a program does: by each of the calls that there are for it. It reads back what it
// got, and reports it.
type worker struct {
	*base.Session
	servers     target.Servers
	collections []string
	in          *json.Decoder
	out         *json.Encoder

	newest     map[string]prefix.ID // by collection
	text       []byte               // room for one
	identities *allocator.Allocator // that values of the identity are taken from, too; nil: none are
	identified time.Time            // when that was last
}

// readWorker makes a worker process. It speaks with the proof that started it over stdin and stdout. The environment that it
// knows are the settings: they may hold passwords, and go through nothing but a pipe.
func readWorker(r *base.Reader) *worker {
	w := &worker{in: json.NewDecoder(r.Env.Stdin), out: json.NewEncoder(r.Env.Stdout)}
	var settings map[string]string
	if err := w.in.Decode(&settings); err != nil {
		r.Failf("%s: --%s is for processes that hilo verify starts", r.FullName(), flagAsWorker)
		return w
	}
	r.Env.LookupEnv = func(name string) (string, bool) { value, ok := settings[name]; return value, ok }
	w.Session, w.servers, w.collections = r.Session(), r.Servers(), r.Collections(base.DefaultCollection, mostCollections)
	return w
}

// Run is a worker's life. It ends with ctx or with in, whichever is first.
func (w *worker) Run(ctx context.Context) error {
	bye := word{Bye: new(allocator.CollectionStats)}
	err := w.servers.Use(ctx, w.Timeout, func(o target.Opened) error {
		a, err := o.Allocator(base.Options(w.Session, o, base.WithoutReturned(w.Log)))
		if err != nil {
			return err
		}
		err = w.work(ctx, o, a)
		failures := summed(a).Failures // a refill that Close calls off is none
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.Timeout)
		defer cancel()
		_ = a.Close(closing) // what it could not return is burnt, and counted so
		*bye.Bye = summed(a)
		bye.Bye.Failures = failures
		return err
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		bye.Why = inWords(err)
	}
	return w.out.Encode(bye)
}

func summed(a *allocator.Allocator) (sums allocator.CollectionStats) {
	for _, s := range a.Stats().Collections {
		sums.Add(s)
	}
	return sums
}

// inWords is an error as it goes through a pipe.
func inWords(err error) *exit.Error {
	return &exit.Error{Code: exit.Code(err), Text: exit.Plain(err) + exit.Remedy(err)}
}

// work takes its share, and waits to be told to end, which is no error.
func (w *worker) work(ctx context.Context, o target.Opened, a *allocator.Allocator) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := w.out.Encode(word{}); err != nil {
		return err
	}
	var mine share
	if err := w.in.Decode(&mine); err != nil {
		return nil // it is told to end
	}
	go func() {
		defer cancel()
		_ = w.in.Decode(new(share)) // there is no other
	}()
	w.newest = make(map[string]prefix.ID)
	if len(o.Targets) > 1 {
		w.identities = a
	}
	program := fleet.Program{
		IDs: a, Collections: w.collections, Goroutines: 1, Count: mine.IDs, Rate: mine.Rate, Batch: 4096, Prompt: true,
		Call: w.call,
		Sink: func(runs []fleet.Run) error { return w.out.Encode(word{Runs: runs}) },
		Failed: func(_ string, err error, _ bool) error {
			if !mayPass(err) {
				return err
			}
			return w.out.Encode(word{Why: inWords(o.Explain(ctx, err))})
		},
	}
	if mine.Rate > 0 { // not all workers at once, where each has little to do
		base.Sleep(ctx, rand.N(time.Duration(float64(time.Second)/mine.Rate)))
	}
	if err := program.Run(ctx); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// mayPass reports whether identifiers may come again without anybody's doing, or by what the proof restores.
func mayPass(err error) bool {
	return errors.Is(err, allocator.ErrUnavailable) || errors.Is(err, allocator.ErrNotDurable) ||
		errors.Is(err, allocator.ErrPrefixMissing) || errors.Is(err, allocator.ErrIdentitiesElsewhere)
}

// mostTaken is the greatest size of one call of Take.
const mostTaken = 64

// call is for fleet.Program.
func (w *worker) call(ctx context.Context, from *allocator.Collection, most int64, note func(prefix.ID)) error {
	if took, err := w.takeIdentities(ctx, most, note); took || err != nil {
		return err
	}
	if ctx.Err() == nil && rand.IntN(2) == 0 { // Take is nothing for one that is over
		batch, err := from.Take(ctx, rand.N(min(most, mostTaken))+1)
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
		return fleet.NextID(ctx, from, most, func(id prefix.ID) { w.newest[from.Name()] = id; note(id) })
	case 1:
		w.text, err = from.AppendNext(ctx, w.text[:0])
		text = string(w.text)
	case 2:
		text, _ = from.TryNext()
	}
	if text == "" && err == nil { // TryNext had nothing in hand, or it is the turn of Next
		text, err = from.Next(ctx)
	}
	if err != nil {
		return err
	}
	return w.read(from.Name(), text, note)
}

// read notes an identifier by its text, which is taken apart by the rules where it is not the newest but for one more: that
// takes ten times as long.
func (w *worker) read(collection, text string, note func(prefix.ID)) error {
	id := w.newest[collection]
	id.Number++
	if w.text = id.Append(w.text[:0], w.Separator); string(w.text) != text {
		var err error
		id, err = prefix.Parse(text, w.Separator)
		if err == nil && id.Collection != collection {
			err = fmt.Errorf("it is of the collection %q", id.Collection)
		}
		if err != nil {
			return &exit.Error{Code: exit.Fault, Cause: err,
				Text: fmt.Sprintf("%q was handed out, which is no identifier of %q (%s): please report this", text, collection, exit.Plain(err))}
		}
	}
	w.newest[collection] = id
	note(id)
	return nil
}

const (
	// identityPatience is how long a worker waits for values of the identity: while their home is away, identifiers go on.
	identityPatience = 250 * time.Millisecond
	// identityEvery is how often it takes some, and mostIdentities how many at most.
	identityEvery  = 50 * time.Millisecond
	mostIdentities = 4
)

// takeIdentities takes some values of the identity when it is time again and it may wait. That their home is away is no
// error.
func (w *worker) takeIdentities(ctx context.Context, most int64, note func(prefix.ID)) (took bool, err error) {
	if w.identities == nil || ctx.Err() != nil || time.Since(w.identified) < identityEvery {
		return false, nil
	}
	defer func() { w.identified = time.Now() }()
	ctx, cancel := context.WithTimeout(ctx, identityPatience)
	defer cancel()
	got, err := w.identities.NextIdentities(ctx, identityName, rand.N(min(most, mostIdentities))+1)
	if err != nil && (mayPass(err) || ctx.Err() != nil) {
		return false, nil
	}
	for number := got.Low; number <= got.High && err == nil; number++ {
		note(prefix.ID{Collection: identityName, Number: number})
	}
	return err == nil, err
}
