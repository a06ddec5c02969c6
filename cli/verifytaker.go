package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
)

// taker takes identifiers of collections in turn, by each of the calls that there are for it, reads back what it got,
// and reports it as runs of numbers.
type taker struct {
	separator string
	out       *bufio.Writer
	streams   []*stream
	at        int // of streams: the next one
	batches   int

	series map[prefix.ID]int // those reported
	runs   []byte            // to be reported
	text   []byte
}

// stream is what comes of one collection.
type stream struct {
	from *allocator.Collection

	// What the text of the latest identifier had around its number, and the series that it is of.
	head, tail string
	series     int

	// The run that is not in taker.runs yet, none if count is 0.
	low, count int64
}

// way is one of the calls that give identifiers: one of them, or up to most; it tells how many it got.
type way func(t *taker, ctx context.Context, s *stream, most int64) (int64, error)

var ways = []way{(*taker).append, (*taker).next, (*taker).tryNext, (*taker).nextID, (*taker).take}

// gone is a ctx that is over: with it a call gives what is in hand, and does not wait.
var gone = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// batch takes n identifiers, by one of the ways, and reports them. Before a call that has to wait it reports
// what it has so far, so that nothing is unreported while it waits.
func (t *taker) batch(ctx context.Context, n int64) (took int64, err error) {
	by := ways[t.batches%len(ways)]
	t.batches++
	for took < n && ctx.Err() == nil {
		s := t.streams[t.at]
		got, err := by(t, gone, s, n-took) //nolint:contextcheck // the next call waits, and has the ctx
		if isWait(err) {
			if err := t.report(); err != nil {
				return took, err
			}
			got, err = by(t, ctx, s, n-took)
		}
		if err != nil {
			_ = t.report()
			return took, err
		}
		took += got
		if t.at++; t.at == len(t.streams) {
			t.at = 0
		}
	}
	return took, t.report()
}

// isWait reports whether a call with a ctx that is over would have had to wait.
func isWait(err error) bool { return errors.Is(err, context.Canceled) }

func (t *taker) next(ctx context.Context, s *stream, _ int64) (int64, error) {
	text, err := s.from.Next(ctx)
	if err != nil {
		return 0, err
	}
	return 1, t.read(s, text)
}

func (t *taker) tryNext(ctx context.Context, s *stream, _ int64) (int64, error) {
	text, ok := s.from.TryNext()
	if !ok {
		return t.next(ctx, s, 1)
	}
	return 1, t.read(s, text)
}

func (t *taker) append(ctx context.Context, s *stream, _ int64) (n int64, err error) {
	if t.text, err = s.from.AppendNext(ctx, t.text[:0]); err != nil {
		return 0, err
	}
	return 1, t.read(s, string(t.text))
}

func (t *taker) nextID(ctx context.Context, s *stream, _ int64) (int64, error) {
	id, err := s.from.NextID(ctx)
	if err != nil {
		return 0, err
	}
	t.id(s, id)
	return 1, nil
}

func (t *taker) take(ctx context.Context, s *stream, most int64) (int64, error) {
	batch, err := s.from.Take(ctx, min(takeSize, most))
	if err != nil {
		return 0, err
	}
	for text := range batch.All() {
		if err := t.read(s, text); err != nil {
			return 0, err
		}
	}
	return batch.Len(), nil
}

// read notes an identifier by its text. One that differs from an earlier one in nothing but its number is of the same
// series; any other is taken apart by the rules.
func (t *taker) read(s *stream, text string) error {
	if s.head != "" && len(text) > len(s.head)+len(s.tail) && strings.HasPrefix(text, s.head) && strings.HasSuffix(text, s.tail) {
		if number, ok := canonical(text[len(s.head) : len(text)-len(s.tail)]); ok {
			t.note(s, number)
			return nil
		}
	}
	id, err := prefix.Parse(text, t.separator)
	if err == nil && id.Collection != s.from.Name() {
		err = fmt.Errorf("it is of the collection %q", id.Collection)
	}
	if err != nil {
		return &failure{code: exitFault, cause: err,
			text: fmt.Sprintf("%q was handed out, which is no identifier of %q (%s): please report this", text, s.from.Name(), plain(err))}
	}
	t.id(s, id)
	return nil
}

// canonical reads a number as identifiers have it.
func canonical(digits string) (int64, bool) {
	const most = 19 // digits of math.MaxInt64; no number of so many wraps a uint64
	if len(digits) > most || digits[0] == '0' {
		return 0, false
	}
	var number uint64
	for i := range len(digits) {
		digit := digits[i] - '0'
		if digit > 9 {
			return 0, false
		}
		number = 10*number + uint64(digit)
	}
	return int64(number), number <= math.MaxInt64
}

// id notes an identifier by its parts.
func (t *taker) id(s *stream, id prefix.ID) {
	series, known := t.series[numberless(id)]
	if !known {
		if t.series == nil {
			t.series = make(map[prefix.ID]int)
		}
		series = len(t.series)
		t.series[numberless(id)] = series
		writeJSONFrame(t.out, frameSeries, numberless(id))
	}
	if s.head == "" || s.series != series {
		t.end(s)
		s.series = series
		s.head = id.Collection + t.separator + id.ServerPrefix
		s.tail = ""
		if id.NodeTag != "" {
			s.tail = "-" + id.NodeTag
		}
	}
	t.note(s, id.Number)
}

// note adds a number to the run that it continues, or else begins one.
func (t *taker) note(s *stream, number int64) {
	if s.count == 0 || number != s.low+s.count {
		t.end(s)
		s.low = number
	}
	s.count++
}

// end puts the run of a stream with those to be reported.
func (t *taker) end(s *stream) {
	if s.count > 0 {
		t.runs = appendRun(t.runs, s.series, s.low, s.count)
		s.count = 0
	}
}

// report writes what was taken to the pipe: from then on it counts.
func (t *taker) report() error {
	for _, s := range t.streams {
		t.end(s)
	}
	if len(t.runs) == 0 {
		return nil
	}
	writeFrame(t.out, frameRuns, t.runs)
	t.runs = t.runs[:0]
	return t.out.Flush()
}
