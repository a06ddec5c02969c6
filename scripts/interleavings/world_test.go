package interleavings

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const none = -1

// world is the complete state between two steps, small and comparable. Its numbers of states, ranges and sets are those that the
// model interned.
type world struct {
	nodes    [2]node
	snapshot int32 // state, or none before the first one
	lives    int8  // of servers so far
	clock    int8  // advances when a node gets another state, since between that each write has a later time by itself
	clients  [3]peer
	flight   [2]message // the messages that no server received yet, in order, the rest empty
	taken    int32      // the numbers that clients have and did not return
	jumps    int32      // the requests that jumped, each with the life of the server
	given    int32      // the greatest number that a server issued, even if the reply was lost
}

// node is one server of a deployment.
type node struct {
	up    bool
	life  int8 // which replication id it has
	lost  bool // the counter went back behind what was issued, and no replication id shows it
	state int32
}

// peer is one client, with what an allocator records of a counter.
type peer struct {
	sent    int8  // requests so far, which name their tokens
	pending int32 // the request whose reply did not come, or none
	epoch   int32
	floor   int32
	lowered int32    // how often the identity had been lowered by force when floor was issued
	below   int32    // floor under the ranges held
	held    [2]int32 // ranges, the newest first, or none
}

func newWorld() world {
	w := world{snapshot: none, lives: 1}
	w.nodes[0] = node{up: true}
	for i := range w.clients {
		w.clients[i] = newPeer(0)
	}
	return w
}

func newPeer(sent int8) peer {
	return peer{sent: sent, pending: none, held: [2]int32{none, none}}
}

// message is a request that reaches a server after its client gave up.
type message struct {
	verb verb
	id   int32
}

// sends adds a message to those in flight and reports whether there was room.
func (w *world) sends(m message) bool {
	for i := range w.flight {
		if w.flight[i] == (message{}) {
			w.flight[i] = m
			slices.SortFunc(w.flight[:i+1], func(a, b message) int { return cmp.Or(int(a.verb)-int(b.verb), int(a.id-b.id)) })
			return true
		}
	}
	return false
}

// arrives removes a message from those in flight and returns it.
func (w *world) arrives(i int8) message {
	m := w.flight[i]
	copy(w.flight[i:], w.flight[i+1:])
	w.flight[len(w.flight)-1] = message{}
	return m
}

// counter is the part of a stored counter that affects its behaviour. The tallies do not, since the gap is fixed, and neither
// does the name.
type counter struct{ max, low, lease, ranges, epoch, origin, bare, lowered, written string }

func (c counter) fields(k kind) map[string]string {
	fields := map[string]string{
		k.field: c.max, "Low": c.low, "Lease": c.lease, "Ranges": c.ranges, "Epoch": c.epoch, "Origin": c.origin, "Bare": c.bare, "Lowered": c.lowered,
		"Written": c.written,
	}
	for field, value := range fields {
		if value == "" {
			delete(fields, field)
		}
	}
	return fields
}

func counterOf(k kind, fields map[string]string) counter {
	return counter{
		fields[k.field], fields["Low"], fields["Lease"], fields["Ranges"], fields["Epoch"], fields["Origin"], fields["Bare"], fields["Lowered"],
		fields["Written"],
	}
}

func decimalOf(text string) int32 {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil && text != "" {
		panic("bug: " + err.Error())
	}
	return int32(n)
}

// span is a range as the client that holds it records it.
type span struct {
	token            string
	low, high, epoch int32
	before, written  int64
}

// numbers is a set of numbers, written in order.
type numbers string

func (n numbers) list() []int32 {
	var list []int32
	for text := range strings.FieldsSeq(string(n)) {
		list = append(list, decimalOf(text))
	}
	return list
}

func (n numbers) greatest() int32 {
	return decimalOf(string(n[strings.LastIndexByte(string(n), ' ')+1:]))
}

// with adds low..high and returns the first number that was already in the set, or 0.
func (n numbers) with(low, high int32) (after numbers, twice int32) {
	list := n.list()
	for number := low; number <= high; number++ {
		if at, there := slices.BinarySearch(list, number); !there {
			list = slices.Insert(list, at, number)
		} else if twice == 0 {
			twice = number
		}
	}
	return written(list), twice
}

func (n numbers) without(low, high int32) numbers {
	return written(slices.DeleteFunc(n.list(), func(number int32) bool { return low <= number && number <= high }))
}

func written(list []int32) numbers {
	return numbers(strings.Trim(fmt.Sprint(list), "[]"))
}

// interned maps equal values to the same small number.
type interned[T comparable] struct {
	ids    map[T]int32
	values []T
}

func (i *interned[T]) id(value T) int32 {
	id, ok := i.ids[value]
	if !ok {
		if i.ids == nil {
			i.ids = map[T]int32{}
		}
		id = int32(len(i.values))
		i.ids[value] = id
		i.values = append(i.values, value)
	}
	return id
}
