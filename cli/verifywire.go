package cli

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/hilo-id/hilo/prefix"
)

// What a proof and its workers send each other, over pipes: frames, each its length and then so many bytes. A worker
// that is killed in the middle of one leaves half a frame, which counts for nothing.
//
// The proof sends an assignment and then, without frames, how many more identifiers the worker may take. The end of
// the stream tells it to end.
//
// The first byte of a worker's frame says what it is.
const (
	frameReady   = 'y' // nothing else: it may be told to take
	frameSeries  = 's' // an ID without a number, as JSON; frames of runs name it by its place among these
	frameRuns    = 'r' // runs: series, first number, and how many, and so on
	frameTrouble = 't' // a farewell that is none: why it got nothing just now; it tries again
	frameEnd     = 'e' // a farewell, as JSON
)

const longestFrame = 1 << 24

// assignment is what a worker process has to know. Its settings may hold passwords: it goes through nothing but a pipe.
type assignment struct {
	Settings    map[string]string // environment variables, in the place of flags
	Collections []string
}

// farewell is what a worker knows at its end.
type farewell struct {
	Code int    // why it ended by itself: an exit code, 0: it was told to
	Text string // and in words

	Ranges, Reserved, Issued, Returned, Burnt, Waits, Failures, Jumps int64
}

func writeFrame(w *bufio.Writer, kind byte, body []byte) {
	w.Write(binary.AppendUvarint(nil, uint64(len(body))+1))
	w.WriteByte(kind)
	w.Write(body)
}

func readFrame(r *bufio.Reader) (kind byte, body []byte, err error) {
	size, err := binary.ReadUvarint(r)
	if err != nil {
		return 0, nil, err
	}
	if size == 0 || size > longestFrame {
		return 0, nil, fmt.Errorf("bug: a frame of %d bytes", size)
	}
	body = make([]byte, size)
	if _, err := io.ReadFull(r, body); err != nil {
		return 0, nil, err
	}
	return body[0], body[1:], nil
}

func writeJSONFrame(w *bufio.Writer, kind byte, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		panic("bug: " + err.Error())
	}
	writeFrame(w, kind, body)
}

// appendRun appends one run to the body of a frame.
func appendRun(body []byte, series int, low, count int64) []byte {
	body = binary.AppendUvarint(body, uint64(series))
	body = binary.AppendUvarint(body, uint64(low))
	return binary.AppendUvarint(body, uint64(count))
}

var errRuns = errors.New("bug: a frame of runs that is none")

// eachRun goes through the body of a frame of runs.
func eachRun(body []byte, do func(series int, low, high int64) error) error {
	for len(body) > 0 {
		var values [3]uint64
		for i := range values {
			value, size := binary.Uvarint(body)
			if size <= 0 || value > math.MaxInt64 {
				return errRuns
			}
			values[i], body = value, body[size:]
		}
		low, count := int64(values[1]), int64(values[2])
		if values[0] > math.MaxInt32 || low < 1 || count < 1 || low > math.MaxInt64-(count-1) {
			return errRuns
		}
		if err := do(int(values[0]), low, low+count-1); err != nil {
			return err
		}
	}
	return nil
}

// numberless is an identifier without its number: what a series is.
func numberless(id prefix.ID) prefix.ID {
	id.Number = 0
	return id
}
