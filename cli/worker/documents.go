package worker

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/hilo-id/hilo/cli/internal/base"
)

// documents are identifiers that a worker stores as keys, where one that was given twice is found.
//
// The value of each says which worker wrote it and as its how-manieth, so no two are equal. Where a key is there
// already, the command that would have written it gives its value, which tells the three cases apart: written by this very
// request, whose reply was lost; given twice to this worker; given to another worker too. It takes Redis 7 or Valkey.
type documents struct {
	client      redis.UniversalClient // nil: none are stored
	storing     alarm
	written     atomic.Int64 // values made so far
	stored      atomic.Int64
	duplicates  atomic.Int64
	unstored    atomic.Int64
	storeErrors atomic.Int64 // attempts that failed
}

type document struct{ id, value string }

// store returns when each is stored or a duplicate. When ctx ended before that it gives how many are left.
func (w *worker) store(ctx context.Context, open []document) (left int) {
	for failures := 0; len(open) > 0 && ctx.Err() == nil; failures++ {
		if open = w.attempt(ctx, open); len(open) > 0 {
			// Twice as long each time, up to 2 s, and spread by up to a half, so that a fleet does not come back in step.
			delay := min(2*time.Second, 50*time.Millisecond<<min(failures, 10))
			base.Sleep(ctx, delay/2+rand.N(delay/2))
		}
	}
	return len(open)
}

// attempt gives those of which nobody knows yet whether they are stored.
func (w *worker) attempt(ctx context.Context, batch []document) (open []document) {
	var err error
	sets, _ := w.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, doc := range batch {
			p.SetArgs(ctx, doc.id, doc.value, redis.SetArgs{Mode: "NX", Get: true})
		}
		return nil
	})
	for i, set := range sets {
		switch there, failed := set.(*redis.StatusCmd).Result(); {
		case errors.Is(failed, redis.Nil), failed == nil && there == batch[i].value:
			w.stored.Add(1)
		case failed == nil:
			w.duplicate(batch[i], there)
		case redis.HasErrorPrefix(failed, "WRONGTYPE"):
			w.duplicate(batch[i], "a key of another type")
		default:
			open, err = append(open, batch[i]), failed
		}
	}
	switch {
	case err == nil:
		w.storing.end("")
	case ctx.Err() == nil:
		w.storeErrors.Add(1)
		said := strings.ReplaceAll(w.Documents.Sentence(err, w.Timeout), base.Dashed(base.FlagRedis), base.Dashed(base.FlagDocuments))
		w.storing.add("", errors.New(said), true)
	}
	return open
}

func (w *worker) duplicate(doc document, found string) {
	w.duplicates.Add(1)
	w.Log.Error("DUPLICATE ID: it was given twice, and a document with it is there already",
		zap.String("id", doc.id), zap.String("there", found), zap.String("new", doc.value))
}
