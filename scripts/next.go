package scripts

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

var next = loadTaking("take", false)

// Keys are the keys that a script on one counter names. On a cluster all three are in one slot.
type Keys struct {
	Counter string
	Server  string // has the server's settings
	Other   string // of the same name and the other kind; Server again if there is none
}

// Marks are what a client has seen of a counter at a server. It sends them with each request, since a counter that is behind them
// has lost writes.
type Marks struct {
	Floor   int64 // greatest number issued to this client and not returned, 0 for none
	Epoch   int64 // greatest epoch, 0 for none
	Ceiling int64 // greatest number that was reserved, 0 for none
	Block   int64 // greatest block, 0 for none
	Age     int64 // seconds since the newest answer about the counter
	// Settled reports that the server had a prefix, tag or interval, so that one without is ErrPrefixMissing.
	Settled bool
	// Mixed reports that this client was issued numbers of the same name and the other kind, which have neither prefix nor tag.
	Mixed bool
	// Lowered is the number of forced seeds that had lowered an identity when Floor was issued.
	Lowered int64
}

// NextRequest is a request for a range.
type NextRequest struct {
	Token    string // unique to this request; a resend repeats it
	Name     string // the collection as the caller spells it
	Capacity int64  // size of the range requested, 1 or more
	Limit    int64  // greatest number that may ever be issued
	Marks
}

// Evidence is why a script concluded that writes may have been lost, or "".
type Evidence string

// The kinds of evidence.
const (
	EvidenceFloor   Evidence = "floor"   // Max is below what this client was issued, or Raised below what it saw
	EvidenceEpoch   Evidence = "epoch"   // Epoch is below the one that this client has seen, or is another counter's
	EvidenceOrigin  Evidence = "origin"  // the server was restarted or promoted, got its first replica, or is not durable any more
	EvidenceMissing Evidence = "missing" // the counter is gone
)

// DurableState is the state of a server's field Durable, with which the operator states that one server keeps what it synced.
type DurableState string

// The states of Durable. All but the first three are reasons for its removal.
const (
	DurableNone     DurableState = ""         // the field is absent
	DurableEverysec DurableState = "everysec" // it is set, and nothing contradicts it
	DurableAlways   DurableState = "always"   // it is set, and nothing contradicts it
	DurableReplica  DurableState = "replica"  // a replica is connected
	DurableHistory  DurableState = "history"  // the replication id changed otherwise than by a restart from the AOF
	DurableCluster  DurableState = "cluster"  // the server is a node of a cluster
	DurableEvidence DurableState = "evidence" // writes were lost all the same
)

// Holds reports whether the field is set and nothing contradicts it.
func (d DurableState) Holds() bool { return d == DurableEverysec || d == DurableAlways }

// Removed reports whether the field was removed, for the reason d.
func (d DurableState) Removed() bool { return d != DurableNone && !d.Holds() }

// Range is the reply of next and identity. It has the numbers Low to High, both
// included, and the server's prefix and tag, which are read in the same atomic step.
type Range struct {
	Low, High int64
	Epoch     int64
	Prefix    string
	Tag       string
	Jump      int64        // distance by which Max was advanced before the range was issued
	Evidence  Evidence     // the reason for Jump
	Ceiling   int64        // greatest number that is reserved, at a durable server the greatest that may be issued
	Block     int64        // by how much Raised was raised last
	Origin    string       // replication id of the server, "" if unknown
	Written   int64        // time of this write, which no other write of the counter has
	Before    int64        // time of the previous write, 0 if there was none or it is unknown
	Lowered   int64        // number of forced seeds that lowered an identity
	Durable   DurableState // of the server
	Interval               // of the server
}

// Next takes a range. The same request may be sent twice. With the same token it returns the same range, as long as no other one
// was issued since.
//
// Errors: ErrCorrupt, ErrExhausted, ErrNotSeeded, ErrPrefixMissing, ErrMixed, ErrUnguarded, ErrCeiling, ErrReply, and those of the
// client.
func Next(ctx context.Context, client redis.Scripter, keys Keys, r NextRequest) (Range, error) {
	got, before, err := taken(r.call(keys).run(ctx, client, next), r.Token)
	got.Before = before
	if err != nil {
		return got, err
	}
	if got.Low <= r.Floor || got.High < got.Low || got.High-got.Low >= r.Capacity || got.High > r.Limit ||
		!got.has(got.Low) || !got.has(got.High) {
		return Range{}, fmt.Errorf("%w: range %d..%d for capacity %d, floor %d, limit %d, interval %d..%d",
			ErrReply, got.Low, got.High, r.Capacity, r.Floor, r.Limit, got.MinValue, got.MaxValue)
	}
	return got, nil
}

func (r NextRequest) call(keys Keys) call {
	return call{[]string{keys.Counter, keys.Server, keys.Other}, r.args(r.Token, r.Capacity, r.Limit, r.Name)}
}

// args returns the arguments that next and identity share.
func (m Marks) args(token string, count, limit int64, name string) []any {
	return []any{token, count, limit, name, m.Floor, m.Epoch, m.Ceiling, m.Block, m.Age, bit(m.Settled), bit(m.Mixed)}
}

// taken returns the numbers in the reply of a script that issues them. last is the item that differs by kind. A reply with another
// token belongs to another request.
func taken(cmd *redis.Cmd, token string) (got Range, last int64, err error) {
	reply, err := decode(cmd, 14, 15)
	if err != nil {
		return Range{}, 0, err
	}
	if reply[0] != token {
		return Range{}, 0, fmt.Errorf("%w: it answers the request %q and not %q", ErrReply, reply[0], token)
	}
	got = Range{Prefix: reply[4], Tag: reply[5], Evidence: Evidence(reply[7]), Origin: reply[10], Durable: DurableState(reply[13])}
	texts := []string{reply[1], reply[2], reply[3], reply[6], reply[8], reply[9], reply[11], reply[12]}
	if err := numbers(texts, &got.Low, &got.High, &got.Epoch, &got.Jump, &got.Ceiling, &got.Block, &got.Written, &last); err != nil {
		return Range{}, 0, err
	}
	if len(reply) > 14 {
		if got.Interval, err = intervalOf(reply[14]); err != nil {
			return Range{}, 0, err
		}
	}
	return got, last, nil
}
