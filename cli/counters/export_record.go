package counters

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"github.com/hilo-id/hilo/allocator/admin"
)

// whole is a number of an export. Beyond 2^53 it is a JSON string, because many tools read numbers as doubles and round them. It is
// read from either form.
type whole int64

// mostExact is the greatest number up to which a double holds every whole number.
const mostExact = 1 << 53

// MarshalJSON implements json.Marshaler.
func (n whole) MarshalJSON() ([]byte, error) {
	text := strconv.FormatInt(int64(n), 10)
	if n > mostExact {
		text = `"` + text + `"`
	}
	return []byte(text), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *whole) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	digits := string(bytes.TrimSuffix(bytes.TrimPrefix(text, []byte(`"`)), []byte(`"`)))
	number, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || strconv.FormatInt(number, 10) != digits {
		return fmt.Errorf("%.64s is no number: must be -9223372036854775808 to 9223372036854775807, in digits only", text)
	}
	*n = whole(number)
	return nil
}

// truth is true, or false. Version 2 had a number, 0 for false.
type truth bool

// UnmarshalJSON implements json.Unmarshaler.
func (b *truth) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case "true":
		*b = true
	case "false", "null":
		*b = false
	default:
		var n whole
		if err := n.UnmarshalJSON(text); err != nil || n < 0 {
			return fmt.Errorf("bare is %.64s: must be true or false", text)
		}
		*b = n > 0
	}
	return nil
}

// jumpsOf is the part of admin.State.Epoch that counts jumps. The rest is the time of the first range.
const jumpsOf = 1_000_000

// recordOf returns the line of a counter.
func recordOf(s *admin.State) record {
	return record{
		Kind: string(s.Kind), Collection: s.Name, Max: new(whole(s.Max)), Ranges: whole(s.Ranges),
		Jumps: whole(s.Epoch % jumpsOf), Born: whole(s.Epoch / jumpsOf),
		Raised: whole(s.Raised), Block: whole(s.Block), RaisedAt: whole(s.RaisedAt), Bare: truth(s.Bare), Origin: s.Origin,
		Written: whole(s.Written), Lowered: whole(s.Lowered), Margin: whole(s.Margin),
	}
}

// state returns the counter of a line. One of hilo 0.1 is converted.
func (l *record) state(kind admin.Kind, version int) admin.State {
	s := admin.State{
		Kind: kind, Counter: admin.Counter{Name: l.Collection, Max: int64(*l.Max), Ranges: int64(l.Ranges), Origin: l.Origin},
		Epoch: int64(l.Born*jumpsOf + l.Jumps), Raised: int64(l.Raised), Block: int64(l.Block), RaisedAt: int64(l.RaisedAt), Bare: bool(l.Bare),
		Written: int64(l.Written), Lowered: int64(l.Lowered), Margin: int64(l.Margin),
	}
	if version >= exportVersion {
		return s
	}
	const microseconds = 1000 // in a millisecond
	s.Epoch, s.Max, s.Written = int64(l.Epoch), max(s.Max, int64(l.Top)), s.Written/microseconds
	if l.Lost {
		s.Margin = lostMargin(kind, int64(l.Issued))
	}
	return s
}

// lostMargin returns how many numbers may be in use above a counter of hilo 0.1 whose server may have lost writes. It is the least
// jump that hilo 0.1 made. issued is how many numbers were issued in two minutes.
func lostMargin(kind admin.Kind, issued int64) int64 {
	least := int64(1024)
	if kind == admin.KindHiLo {
		least = 65536
	}
	return max(least, 2*min(issued, math.MaxInt64/2))
}
