package ravendb

import (
	"context"
	"crypto/rand"
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/hilo-id/hilo/allocator/internal/memory"
	"github.com/hilo-id/hilo/scripts"
)

// counter is what is known of one counter, of either kind.
type counter struct {
	keys scripts.Keys

	// turn holds one element while a request is under way: each has to know
	// what the one before left. What follows belongs to whoever put it there.
	turn chan struct{}

	told memory.Counter // its times are since Handler.began

	known  bool  // there was a reply
	others int64 // no range up to here is taken back: one of an earlier life may end alike

	token    string // of a request whose reply never came, "": none
	capacity int64  // that it asked for

	failed   error // the latest failure
	failedAt time.Time
}

// locked runs do when it is its turn. Who waited for one that failed meanwhile
// shares its failure, so that a queue does not wait for the server one by one.
func (c *counter) locked(ctx context.Context, do func() error) error {
	came := time.Now()
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.turn }()
	if c.failed != nil && c.failedAt.After(came) {
		return c.failed
	}
	err := do()
	if err != nil && !errors.Is(err, errArgument) && !scripts.Answered(err) {
		c.failed, c.failedAt = err, time.Now()
	}
	return err
}

// learn takes in what a reply says of the counter.
func (h *Handler) learn(c *counter, got scripts.Range) {
	if got.High == 0 {
		return
	}
	// One that was only seeded may stand for one that is gone, of which a predecessor gave ranges.
	if !c.known && (got.Ranges > 1 || got.Low > 1) && time.Since(h.began) < firstHour {
		c.others = got.Low + min(2*maxCapacity, math.MaxInt64-got.Low)
	}
	c.known = true
	c.told.Learn(time.Since(h.began), got)
	if got.Evidence != "" {
		h.jumps.Add(1)
		memory.LogJump(h.opts.Logger, c.keys.Counter, got)
	}
}

// firstHour is how long returns may come that belong to an earlier life.
const firstHour = time.Hour

// ask takes a range of so many numbers, in its turn. A request whose reply never
// came is sent again as it was, so that no range is lost with a reply.
func (h *Handler) ask(ctx context.Context, c *counter, name string, size, floor int64) (got scripts.Range, token string, err error) {
	if c.token == "" || c.capacity != size {
		c.token, c.capacity = rand.Text(), size
	}
	token = c.token
	ctx, cancel := context.WithTimeout(ctx, h.opts.timeout())
	defer cancel()
	got, err = scripts.Next(ctx, h.scripter, c.keys, scripts.NextRequest{
		Token: token, Name: name, Capacity: size, Limit: h.opts.Limit,
		Floor: max(floor, c.told.Floor), Epoch: c.told.Epoch, GuardGap: h.opts.GuardGap, LeastGap: c.told.LeastGap(time.Since(h.began)),
		RequireSeeded: h.opts.RequireSeeded, RequirePrefix: true, // or a server that lost all would begin at 1
	})
	h.learn(c, got)
	if err == nil || scripts.Answered(err) || got.High > 0 {
		c.token = ""
	}
	return got, token, err
}

// next takes a range that ends where no remembered one does, in its turn.
func (h *Handler) next(ctx context.Context, db *database, c *counter, name string, size, floor int64) (scripts.Range, error) {
	size += h.given.beyond(c, c.told.Floor+min(size, math.MaxInt64-c.told.Floor)) // if nobody else takes any
	got, token, err := h.ask(ctx, c, name, size, floor)
	if err != nil {
		return scripts.Range{}, err
	}
	if err := db.accept(got.Prefix, got.Tag); err != nil {
		return scripts.Range{}, err
	}
	const tries = 3 // others come in between, which carries the counter on
	for range tries {
		more := h.given.beyond(c, got.High)
		if more == 0 {
			break
		}
		further, newer, err := h.ask(ctx, c, name, more, floor)
		if errors.Is(err, scripts.ErrExhausted) {
			return got, nil // it ends at the limit, and is not taken back
		}
		if err != nil {
			return scripts.Range{}, err
		}
		if err := db.accept(further.Prefix, further.Tag); err != nil {
			return scripts.Range{}, err
		}
		if further.Before == got.Written && further.Low == got.High+1 && further.Prefix == got.Prefix && further.Tag == got.Tag {
			further.Low = got.Low
		}
		got, token = further, newer
	}
	if h.given.beyond(c, got.High) == 0 {
		h.given.add(c, got.High, given{
			token: token, low: got.Low, epoch: got.Epoch, written: got.Written, at: time.Now(), kept: got.High <= c.others,
		})
	}
	return got, nil
}

// giveBack returns the end of a range, in its turn, if it is one that was given
// here and not returned yet.
func (h *Handler) giveBack(ctx context.Context, c *counter, end, last int64) error {
	r, ok := h.given.find(c, end)
	if !ok || r.kept || last < r.low-1 || last > end {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, h.opts.timeout())
	defer cancel()
	_, err := scripts.Return(ctx, h.client, scripts.ReturnRequest{
		Counter: c.keys.Counter, Token: r.token, End: end, Last: last, Epoch: r.epoch, Written: r.written,
	})
	// Whether it was taken back or not, known or not, the client uses none of it any more.
	if c.told.Floor == end {
		c.told.Floor = last
	}
	if err == nil || scripts.Answered(err) {
		h.given.keep(c, end)
	}
	return err
}

// stands is the greatest number that a counter is known to have given, in its
// turn. What is no number is the script's to refuse.
func (h *Handler) stands(ctx context.Context, c *counter) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, h.opts.timeout())
	defer cancel()
	read, err := h.client.HMGet(ctx, c.keys.Counter, scripts.FieldMax).Result()
	if err != nil {
		return 0, err
	}
	text, _ := read[0].(string)
	if stored, err := strconv.ParseInt(text, 10, 64); err == nil {
		return max(stored, c.told.Floor), nil
	}
	return c.told.Floor, nil
}

// identity takes the next value, in its turn.
func (h *Handler) identity(ctx context.Context, c *counter, name string) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, h.opts.timeout())
	defer cancel()
	got, err := scripts.Identity(ctx, h.scripter, c.keys, scripts.IdentityRequest{
		Token: rand.Text(), Name: name, Count: 1, Limit: h.opts.Limit,
		Floor: c.told.Floor, Epoch: c.told.Epoch, Lowered: c.told.Lowered, GuardGap: h.opts.GuardGap, LeastGap: c.told.LeastGap(time.Since(h.began)),
		RequireSeeded: h.opts.RequireSeeded, RequirePrefix: true,
	})
	h.learn(c, got)
	if err != nil {
		return 0, err
	}
	return got.Low, nil
}
