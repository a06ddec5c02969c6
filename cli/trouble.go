package cli

import (
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// trouble warns that something fails, once and then now and then, and tells when it is over.
type trouble struct {
	log          *zap.Logger
	failed, over string
	errors       atomic.Int64 // so far

	on   atomic.Bool // for end, which is asked far more often than there is trouble
	mu   sync.Mutex  // guards what follows, and changes of on
	said time.Time
}

// remindEvery is how often a trouble that goes on is in the log.
const remindEvery = 30 * time.Second

func (t *trouble) add(err error) {
	t.errors.Add(1)
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.on.Load() || time.Since(t.said) >= remindEvery {
		t.say(err)
	}
}

// remind is add where it is no news: it does not begin a trouble.
func (t *trouble) remind(err error) {
	t.errors.Add(1)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.on.Load() && time.Since(t.said) >= remindEvery {
		t.say(err)
	}
}

// say warns, with mu held.
func (t *trouble) say(err error) {
	t.log.Warn(t.failed, zap.String("error", plain(err)))
	t.said = time.Now()
	t.on.Store(true)
}

func (t *trouble) end() {
	if !t.on.Load() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.on.Swap(false) {
		t.log.Info(t.over)
	}
}
