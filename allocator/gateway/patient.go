package gateway

import (
	"context"
	"sync"
	"time"
)

// patient is a context with a time limit that begins with the first wait for it. Most identifiers are in hand, and a timer
// for each request would cost more than they do.
type patient struct {
	context.Context //nolint:containedctx // it is one
	timeout         time.Duration
	once            sync.Once
	limited         context.Context //nolint:containedctx // it is one
	cancel          context.CancelFunc
}

func (p *patient) begin() context.Context {
	p.once.Do(func() { p.limited, p.cancel = context.WithTimeout(p.Context, p.timeout) })
	return p.limited
}

func (p *patient) Deadline() (time.Time, bool) { return p.begin().Deadline() }
func (p *patient) Done() <-chan struct{}       { return p.begin().Done() }

func (p *patient) Err() error {
	if err := p.Context.Err(); err != nil {
		return err
	}
	return p.begin().Err()
}

// end stops the time limit. p is not used afterwards.
func (p *patient) end() {
	if p.cancel != nil {
		p.cancel()
	}
}
