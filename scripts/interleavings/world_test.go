package interleavings

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

const none = -1

// world is everything between two steps. It is comparable. Its numbers of data, messages, ranges and texts are those that the model
// interned.
type world struct {
	nodes    [2]node
	clients  [3]client
	flight   [2]int32 // messages that no server received yet, in order, the rest none
	kept     int32    // data of the snapshot, or none before the first one
	keptPast int8     // the life that the snapshot names, as node.past
	lives    int8     // of servers so far
	losses   int8
	clock    int32    // milliseconds. It advances when data is replaced, since between that each write has a later time by itself
	texts    int32    // that clients have and did not return
	given    [2]int64 // by kind, the greatest number that a server issued, even if the reply was lost
	bare     [2]bool  // by kind, whether a number without prefix was issued
	beside   bool     // a request arrived beside a replica, which removed Durable
	low      int64    // the greatest MinValue that was confirmed. Other servers issue what is below
}

// aof is the state of an append-only file.
type aof int8

const (
	aofOff       aof = iota
	aofScheduled     // CONFIG SET appendonly yes, during a BGSAVE
	aofRewriting     // the first rewrite, without which the file is as it was when it was switched off
	aofFailing       // the disk is full
	aofOn
)

// environment is what a script sees of a node through INFO.
type environment struct {
	life      int8 // which replication id it has
	past      int8 // master_replid2: the life plus 1, or 0 for zeros
	follows   bool // it is a replica
	connected bool // it has a replica
	pending   bool // a sync is
	uptime    int32
	aof       aof
}

// node is one server.
type node struct {
	environment

	since    int32   // clock at the start of its process
	up       bool    // it is a primary that runs
	copied   bool    // it is a replica, or was one and can be promoted
	stalled  bool    // its replica gets nothing at present
	backlog  bool    // it has a replication backlog
	heir     bool    // it was promoted, or restarted without its AOF, which removes Durable with the next range
	quieted  bool    // its data went back once in this life
	due      bool    // a second passed since the last sync began
	lost     [2]bool // by kind, whether the counter went back and no replication id shows it
	unmarked [2]bool // by kind, whether the record of numbers without prefix was lost
	interval bool    // MinValue was lost
	memory   int32
	file     int32 // what a restart from the AOF loads, or none if there never was one
	syncing  int32 // what the sync in progress covers
}

// client is an allocator, with what it records.
type client struct {
	sent    int8  // requests so far, which name their tokens
	pending int32 // the request for a range whose reply did not come, or none
	settled bool
	marks   [2]marks // by kind
	below   int64    // floor under the ranges held
	ranges  [2]int32 // the newest first, or none
	raise   raising
}

// marks are fleet.Marks.
type marks struct {
	floor, epoch, ceiling, block, lowered int64
	at                                    int32 // seconds
	bare                                  bool
}

// raising is a raise of a ceiling whose permit is outstanding.
type raising struct {
	stage  stage
	kind   kind
	raised int64
	origin string
}

type stage int8

const (
	_           stage = iota
	stageRaised       // the raise was answered
	stageAsked        // the first question too
	stageApart        // a second passed since
	stageSure         // the second question was answered
)

func newClient(sent int8) client {
	return client{sent: sent, pending: none, ranges: [2]int32{none, none}}
}

// posts adds a message to those in flight and reports whether there was room.
func (w *world) posts(message int32) bool {
	i := slices.Index(w.flight[:], none)
	if i < 0 {
		return false
	}
	w.flight[i] = message
	slices.Sort(w.flight[:i+1])
	return true
}

// takes removes a message from those in flight and returns it.
func (w *world) takes(i int8) int32 {
	message := w.flight[i]
	copy(w.flight[i:], w.flight[i+1:])
	w.flight[len(w.flight)-1] = none
	return message
}

// data is what a server stores, hashes by key.
type data map[string]map[string]string

func (d data) clone() data {
	all := make(data, len(d))
	for key, hash := range d {
		if len(hash) > 0 {
			all[key] = maps.Clone(hash)
		}
	}
	return all
}

// text returns data in order, for comparison.
func (d data) text() string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(d)) {
		for _, field := range slices.Sorted(maps.Keys(d[key])) {
			fmt.Fprintf(&b, "%s %s %q\n", key, field, d[key][field])
		}
	}
	return b.String()
}

// number returns a field of a counter, 0 for an absent one.
func number(hash map[string]string, field string) int64 {
	n, err := strconv.ParseInt(hash[field], 10, 64)
	if err != nil && hash[field] != "" {
		panic("bug: " + err.Error())
	}
	return n
}

// span is the texts of consecutive numbers.
type span struct {
	prefix    string
	low, high int64
}

// with adds a span to a list in order, and returns a number of it that the list had already, or 0.
func with(list []span, s span) (after []span, twice int64) {
	for _, other := range list {
		if other.prefix == s.prefix && other.low <= s.high && s.low <= other.high {
			twice = max(other.low, s.low)
		}
	}
	for _, next := range slices.SortedFunc(slices.Values(append(slices.Clone(list), s)), func(a, b span) int {
		return cmp.Or(strings.Compare(a.prefix, b.prefix), cmp.Compare(a.low, b.low))
	}) {
		if last := len(after) - 1; last >= 0 && after[last].prefix == next.prefix && next.low <= after[last].high+1 {
			after[last].high = max(after[last].high, next.high)
		} else {
			after = append(after, next)
		}
	}
	return after, twice
}

// without removes a span.
func without(list []span, s span) (after []span) {
	for _, other := range list {
		if other.prefix != s.prefix || other.high < s.low || s.high < other.low {
			after = append(after, other)
			continue
		}
		if other.low < s.low {
			after = append(after, span{s.prefix, other.low, s.low - 1})
		}
		if s.high < other.high {
			after = append(after, span{s.prefix, s.high + 1, other.high})
		}
	}
	return after
}

// interned maps equal values to the same small number.
type interned[T any] struct {
	ids    map[any]int32
	values []T
}

// id returns the number of a value, of which key is what is compared.
func (i *interned[T]) id(key any, value T) int32 {
	id, ok := i.ids[key]
	if !ok {
		if i.ids == nil {
			i.ids = map[any]int32{}
		}
		id = int32(len(i.values))
		i.ids[key] = id
		i.values = append(i.values, value)
	}
	return id
}
