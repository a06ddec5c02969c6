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

// documents stores identifiers as keys, which reveals duplicates.
//
// Each value is unique, because it consists of the worker's name and the number of the write. If a key exists already, the
// command returns its value. The value of the same write means that the reply to an earlier attempt was lost, and any other
// value that the identifier was issued twice. This needs Redis 7 or Valkey.
type documents struct {
	client      *target.Client // nil means that no documents are stored
	storing     alarm
	written     atomic.Int64 // number of the last write
	stored      atomic.Int64
	duplicates  atomic.Int64
	unstored    atomic.Int64
	storeErrors atomic.Int64 // failed attempts
}

// store retries until each document is stored or a duplicate. When ctx ends it returns the number of the others.
func (w *worker) store(ctx context.Context, batch []target.Document) (unstored int) {
	for failures := 0; len(batch) > 0 && ctx.Err() == nil; failures++ {
		if batch = w.tryStore(ctx, batch); len(batch) > 0 {
			// Exponential back-off up to 2 s, with jitter, so that the workers of a fleet do not retry at the same time.
			delay := min(2*time.Second, 50*time.Millisecond<<min(failures, 10))
			base.Sleep(ctx, delay/2+rand.N(delay/2))
		}
	}
	return len(batch)
}

// tryStore returns the documents that may not be stored.
func (w *worker) tryStore(ctx context.Context, batch []target.Document) (failed []target.Document) {
	var err error
	for i, set := range w.client.Add(ctx, batch) {
		switch {
		case set.Err != nil:
			failed, err = append(failed, batch[i]), set.Err
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
	return failed
}

func (w *worker) duplicate(doc target.Document, found string) {
	w.duplicates.Add(1)
	w.Log.Error("DUPLICATE ID: it was issued twice, and a document with it exists already",
		zap.String("id", doc.Key), zap.String("existing", found), zap.String("new", doc.Value))
}
