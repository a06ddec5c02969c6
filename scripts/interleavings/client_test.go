package interleavings

import (
	"fmt"
	"math"

	"github.com/hilo-id/hilo/scripts"
)

// request returns a request of a client for numbers.
func (m *model) request(w *world, c *client, name int8, k kind, count int64) taking {
	c.sent++
	limit := int64(math.MaxInt64)
	if name == 1 && m.limit > 0 {
		limit = m.limit
	}
	return taking{kind: k, NextRequest: scripts.NextRequest{
		Token: fmt.Sprintf("request %d of client %d", c.sent, name), Name: "orders", Capacity: count, Limit: limit, Marks: w.sends(c, k),
	}}
}

// sends returns the marks that a client sends.
func (w *world) sends(c *client, k kind) scripts.Marks {
	own, other := c.marks[k], c.marks[1-k]
	return scripts.Marks{
		Floor: own.floor, Epoch: own.epoch, Ceiling: own.ceiling, Block: own.block, Age: int64(seconds(w.clock) - own.at), Lowered: own.lowered,
		Settled: c.settled, Mixed: k == collection && other.floor > 0 || other.bare,
	}
}

func seconds(clock int32) int32 { return (clock + 999) / 1000 }

// take sends a request to a node. It reports whether it was served, and the promise covered it or nobody has the reply.
func (m *model) take(w *world, n int8, q taking, lost bool) (got scripts.Range, ok bool) {
	nd := &w.nodes[n]
	covered := m.covered(w, n, q)
	if !covered && !lost {
		return got, false
	}
	r := m.serve(w, n, q)
	nd.heir = false
	if nd.connected && !nd.stalled {
		w.beside = true
	}
	if got = r.got; r.err != nil {
		m.logf("node %d refuses: %v", n+1, r.err)
		return got, false
	}
	if bare := affixes(q.kind, got) == ""; got.Low > 0 {
		w.given[q.kind] = max(w.given[q.kind], got.High)
		w.bare[q.kind] = w.bare[q.kind] || bare
		nd.unmarked[q.kind] = nd.unmarked[q.kind] && !bare && got.Evidence != scripts.EvidenceMissing
	}
	if got.Evidence != "" {
		nd.lost[q.kind] = false
	}
	return got, true
}

// deliver records that a client received a reply. It returns a text that a client already had, or "".
func (m *model) deliver(w *world, c *client, q taking, got scripts.Range) (twice string) {
	k, own := q.kind, &c.marks[q.kind]
	if got.Lowered > own.lowered {
		own.floor, own.lowered = 0, got.Lowered
	}
	own.epoch, own.ceiling, own.block = max(own.epoch, got.Epoch), max(own.ceiling, got.Ceiling), max(own.block, got.Block)
	own.at = seconds(w.clock)
	if got.Low == 0 {
		return ""
	}
	if k == collection { // of which ranges are returned
		if c.ranges[1] != none {
			c.below = m.messages.values[c.ranges[1]].(held).High
		}
		c.ranges[1], c.ranges[0] = c.ranges[0], m.messageID(held{got, q.Token})
		c.pending = none
		c.settled = c.settled || affixes(k, got) != "" || got.Interval != scripts.Interval{}
	}
	affixes := affixes(k, got)
	own.floor, own.bare = max(own.floor, got.High), own.bare || affixes == ""
	if got.Low < w.low {
		return fmt.Sprintf("%s%d, of another server's interval,", affixes, got.Low)
	}
	list, again := with(m.texts.values[w.texts], span{affixes, got.Low, got.High})
	w.texts = m.texts.id(fmt.Sprint(list), list)
	if again > 0 {
		return fmt.Sprintf("%s%d", affixes, again)
	}
	return ""
}

// affixes returns what distinguishes the texts of a range from those of another with the same numbers.
func affixes(k kind, got scripts.Range) string {
	if k == identity {
		return ""
	}
	return got.Prefix + got.Tag
}

// held is a range as the client that holds it records it.
type held struct {
	scripts.Range

	token string
}

// unused returns the return of a client that used some numbers of its newest range, and the floor of that client if it succeeds. If
// it used none, it also returns all but one of the numbers of the range before, where no other range was issued between the two.
func (m *model) unused(c *client, used int64) (r scripts.ReturnRequest, floor int64) {
	newest := m.messages.values[c.ranges[0]].(held)
	last := newest.Low - 1 + used
	if floor = last; used == 0 {
		floor = c.below
		if c.ranges[1] != none {
			older := m.messages.values[c.ranges[1]].(held)
			floor = older.High
			if newest.Before == older.Written && older.High == last && older.Prefix == newest.Prefix {
				last, floor = older.Low, older.Low
			}
		}
	}
	return scripts.ReturnRequest{
		Counter: keys[collection].Counter, Token: newest.token, End: newest.High, Last: last, Epoch: newest.Epoch, Written: newest.Written,
	}, floor
}
