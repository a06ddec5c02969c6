package run

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/target"
)

// documents are identifiers that a worker stores as keys, which shows duplicates.
//
// The value of each has the worker's name and the number of its write, so no two are equal. Where a key exists already, the
// command that would have written it returns its value, which distinguishes three cases: it was written by this very request,
// whose reply was lost; the identifier was issued twice to this worker; or to another worker too. It needs Redis 7 or Valkey.
type documents struct {
	client      *target.Client // nil means that none are stored
	storing     alarm
	written     atomic.Int64 // values made so far
	stored      atomic.Int64
	duplicates  atomic.Int64
	unstored    atomic.Int64
	storeErrors atomic.Int64 // attempts that failed
}

// store returns when each document is stored or a duplicate, or with the number of those that are left when ctx ends.
func (w *worker) store(ctx context.Context, open []target.Document) (left int) {
	for failures := 0; len(open) > 0 && ctx.Err() == nil; failures++ {
		if open = w.attempt(ctx, open); len(open) > 0 {
			// Exponential back-off up to 2 s, with jitter, so that a fleet does not retry in step.
			delay := min(2*time.Second, 50*time.Millisecond<<min(failures, 10))
			base.Sleep(ctx, delay/2+rand.N(delay/2))
		}
	}
	return len(open)
}

// attempt returns the documents of which it is not known whether they are stored.
func (w *worker) attempt(ctx context.Context, batch []target.Document) (open []target.Document) {
	var err error
	for i, set := range w.client.Add(ctx, batch) {
		switch {
		case set.Err != nil:
			open, err = append(open, batch[i]), set.Err
		case !set.There || set.Found == batch[i].Value:
			w.stored.Add(1)
		default:
			w.duplicate(batch[i], set.Found)
		}
	}
	switch {
	case err == nil:
		w.storing.end("")
	case ctx.Err() == nil:
		w.storeErrors.Add(1)
		explained := strings.ReplaceAll(w.Documents.Sentence(err, w.Timeout), base.Dashed(base.FlagRedis), base.Dashed(base.FlagDocuments))
		w.storing.raise("", errors.New(explained), true)
	}
	return open
}

func (w *worker) duplicate(doc target.Document, found string) {
	w.duplicates.Add(1)
	w.Log.Error("DUPLICATE ID: it was issued twice, and a document with it exists already",
		zap.String("id", doc.Key), zap.String("existing", found), zap.String("new", doc.Value))
}
