package worker

import (
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/hilo-id/hilo/cli/internal/exit"
)

// alarm warns that something fails, once and then now and then, and tells when it is over.
type alarm struct {
	log          *zap.Logger
	failed, over string
	errors       atomic.Int64 // so far

	mu   sync.Mutex // guards what follows
	on   map[string]bool
	said time.Time
}

// remindEvery is how often an alarm that goes on is in the log.
const remindEvery = 30 * time.Second

// add counts an error, which is somebody's. One that is no news does not begin an alarm.
func (t *alarm) add(whose string, err error, news bool) {
	t.errors.Add(1)
	t.mu.Lock()
	defer t.mu.Unlock()
	if !news && !t.on[whose] {
		return
	}
	if len(t.on) == 0 {
		t.on, t.said = make(map[string]bool), time.Time{}
	}
	t.on[whose] = true
	if time.Since(t.said) >= remindEvery {
		t.log.Warn(t.failed, zap.String("error", exit.Plain(err)))
		t.said = time.Now()
	}
}

// end is about somebody who has no more errors. The alarm is over when nobody has.
func (t *alarm) end(whose string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.on[whose] {
		return
	}
	if delete(t.on, whose); len(t.on) == 0 {
		t.log.Info(t.over)
	}
}
