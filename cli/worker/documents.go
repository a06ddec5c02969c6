package worker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/hilo-id/hilo/cli/internal/base"
)

// documents stores identifiers as keys, where one that was given twice is found.
//
// The value of each says which worker wrote it and as its how-manieth, so no two are equal. Where a key is there
// already its value tells the three cases apart: written by this very request, whose reply was lost; given twice to
// this worker; given to another worker too.
type documents struct {
	worker
	client     redis.UniversalClient
	writer     string
	alarm      alarm
	written    atomic.Int64 // values made so far
	stored     atomic.Int64
	duplicates atomic.Int64
}

type document struct{ id, value string }

func newDocuments(w worker, writer string, client redis.UniversalClient) *documents {
	return &documents{
		worker: w, client: client, writer: writer,
		alarm: alarm{log: w.Log, failed: "documents cannot be stored, trying on", over: "documents are stored again"},
	}
}

// store returns when each is stored or a duplicate. When ctx ended before that it gives how many are left.
func (d *documents) store(ctx context.Context, ids []string) (left int) {
	last := d.written.Add(int64(len(ids)))
	open := make([]document, len(ids))
	for i, id := range ids {
		open[i] = document{id, fmt.Sprintf("%s #%d", d.writer, last-int64(len(ids)-1-i))}
	}
	for failures := 0; len(open) > 0; failures++ {
		if failures > 0 {
			if base.Sleep(ctx, documentsBackoff(failures-1)); ctx.Err() != nil {
				return len(open)
			}
		}
		// A client may see the end of ctx only when a reply comes.
		tried, ended := base.Await(ctx, func() ([]document, error) { return d.attempt(ctx, open), nil })
		if ended != nil {
			return len(open)
		}
		open = tried
	}
	return 0
}

// documentsBackoff doubles up to 2 s and is spread by up to a half, so that a fleet does not come back in step.
func documentsBackoff(failures int) time.Duration {
	delay := min(2*time.Second, 50*time.Millisecond<<min(failures, 10))
	return delay/2 + rand.N(delay/2)
}

// attempt gives those of which nobody knows yet whether they are stored.
func (d *documents) attempt(ctx context.Context, batch []document) (open []document) {
	var err error
	sets := make([]*redis.StatusCmd, len(batch))
	_, _ = d.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, doc := range batch {
			sets[i] = p.SetArgs(ctx, doc.id, doc.value, redis.SetArgs{Mode: "NX"})
		}
		return nil
	})
	var there []document
	for i, set := range sets {
		switch failed := set.Err(); {
		case failed == nil:
			d.stored.Add(1)
		case errors.Is(failed, redis.Nil):
			there = append(there, batch[i])
		default:
			open, err = append(open, batch[i]), failed
		}
	}
	if len(there) > 0 {
		unread, failed := d.compare(ctx, there)
		open, err = append(open, unread...), errors.Join(err, failed)
	}
	if err == nil {
		d.alarm.end("")
	} else {
		d.alarm.add("", errors.New(d.Documents.Sentence(err, d.Timeout)), true)
	}
	return open
}

// compare looks who wrote those that are there already. It gives those that could not be read.
func (d *documents) compare(ctx context.Context, there []document) (open []document, err error) {
	gets := make([]*redis.StringCmd, len(there))
	_, _ = d.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, doc := range there {
			gets[i] = p.Get(ctx, doc.id)
		}
		return nil
	})
	for i, get := range gets {
		value, failed := get.Result()
		switch {
		case errors.Is(failed, redis.Nil): // removed since: again
			open = append(open, there[i])
		case failed != nil && redis.HasErrorPrefix(failed, "WRONGTYPE"):
			d.duplicate(there[i], "a key of another type")
		case failed != nil:
			open, err = append(open, there[i]), failed
		case value == there[i].value:
			d.stored.Add(1)
		default:
			d.duplicate(there[i], value)
		}
	}
	return open, err
}

func (d *documents) duplicate(doc document, found string) {
	d.duplicates.Add(1)
	d.Log.Error("DUPLICATE ID: it was given twice, and a document with it is there already",
		zap.String("id", doc.id), zap.String("there", found), zap.String("new", doc.value))
}
