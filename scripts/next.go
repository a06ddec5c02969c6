package scripts

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

var next = loadTaking(false)

// Keys are the keys that a script on one counter names. On a cluster all three are in one slot.
type Keys struct {
	Counter string
	Server  string // has the server's prefix, node tag, home flag and Durable
	Other   string // of the same name and the other kind; Server again if there is none
}

// NextRequest is a request for a range.
type NextRequest struct {
	Token         string // unique to this request; a resend repeats it
	Name          string // the collection as the caller spells it
	Capacity      int64  // size of the range requested, 1 or more
	Limit         int64  // greatest number that may ever be issued
	Floor         int64  // greatest number issued to this client and not returned, 0 for none
	Epoch         int64  // greatest epoch of the counter that this client has seen, 0 for none
	LeastGap      int64  // lower bound of the gap of a jump
	IdentityFloor int64  // greatest value of the identity of this name that this server issued to this client, 0 for none
	RaiseTop      bool   // for a gateway: read and raise Top, its greatest number, and end 1,048,576 below MaxValue
	Awaited       int    // number of replicas that client waits for
	AtLeast       int64  // number above which the range begins, at most 2^31-1 above the counter, which is no evidence of loss; 0 for none
	RequireSeeded bool   // a missing counter is ErrNotSeeded
	RequirePrefix bool   // a server with neither prefix nor tag nor interval is ErrPrefixMissing
}

// Evidence is why a script concluded that writes may have been lost, or "".
type Evidence string

// The kinds of evidence.
const (
	EvidenceFloor   Evidence = "floor"   // Max is below what this client was issued
	EvidenceEpoch   Evidence = "epoch"   // Epoch is below the one that this client has seen
	EvidenceOrigin  Evidence = "origin"  // the server was restarted or promoted, or got its first replica
	EvidenceMissing Evidence = "missing" // the counter is gone
	EvidenceOther   Evidence = "other"   // the collection of an identity's name may have lost writes
)

// DurableState is the state of a server's field Durable, with which the server states that it keeps every acknowledged write.
type DurableState string

// The states of Durable. All but the first two are reasons for its removal.
const (
	DurableNone     DurableState = ""         // the field is absent
	DurableAlways   DurableState = "always"   // it is set, and nothing contradicts it
	DurableReplica  DurableState = "replica"  // a replica is connected
	DurableHistory  DurableState = "history"  // the replication id changed otherwise than by a restart from the AOF
	DurableAOF      DurableState = "aof"      // the AOF is off
	DurableCluster  DurableState = "cluster"  // the server is a node of a cluster
	DurableEvidence DurableState = "evidence" // writes were lost all the same
)

// Removed reports whether the field was removed, for the reason d.
func (d DurableState) Removed() bool { return d != DurableNone && d != DurableAlways }

// Range is the reply of next and identity. It has the numbers Low to High, both
// included, and the server's prefix and tag, which are read in the same atomic step.
type Range struct {
	Low, High int64
	Epoch     int64
	Prefix    string
	Tag       string
	Jump      int64        // distance by which Max was advanced before the range was issued
	Evidence  Evidence     // the reason for Jump
	Issued    int64        // numbers issued lately, to all clients
	Seconds   int64        // number of seconds that Issued covers, 1 or more
	Origin    string       // replication id of the server, "" if unknown
	Ranges    int64        // number of ranges issued so far, with this one
	Written   int64        // time of this write, which no other write of the counter has
	Before    int64        // time of the previous write, 0 if there was none or it is unknown
	Lowered   int64        // number of forced seeds that lowered an identity
	Durable   DurableState // of the server
	Top       int64        // before this range, with RaiseTop; 0 for none
	Settings               // of the server
}

// Next takes a range. The same request may be sent twice. With the same token it returns the same range, as long as no other one
// was issued since. With ErrNotDurable the range is returned too, and must not be used.
//
// Errors: ErrCorrupt, ErrExhausted, ErrNotSeeded, ErrPrefixMissing, ErrMixed, ErrUnguarded, ErrRaise, *TooFewReplicasError,
// ErrNotDurable, ErrReply, and those of the client.
func Next(ctx context.Context, client redis.Scripter, keys Keys, r NextRequest) (Range, error) {
	got, before, err := taken(r.call(keys).run(ctx, client, next), r.Token)
	got.Before = before
	if err != nil {
		return got, err
	}
	if got.Low <= max(r.Floor, r.AtLeast) || got.High < got.Low || got.High-got.Low >= r.Capacity || got.High > r.Limit ||
		!got.has(got.Low) || !got.has(got.High) {
		return Range{}, fmt.Errorf("%w: range %d..%d for capacity %d, floor %d, limit %d, interval %d..%d",
			ErrReply, got.Low, got.High, r.Capacity, max(r.Floor, r.AtLeast), r.Limit, got.MinValue, got.MaxValue)
	}
	return got, nil
}

func (r NextRequest) call(keys Keys) call {
	return call{
		[]string{keys.Counter, keys.Server, keys.Other},
		[]any{r.Token, r.Capacity, r.Limit, r.Floor, r.Epoch, r.LeastGap, r.Name,
			bit(r.RequireSeeded), bit(r.RequirePrefix), r.IdentityFloor, bit(r.RaiseTop), r.Awaited, r.AtLeast},
	}
}

// taken returns the numbers in the reply of a script that issues them, with ErrNotDurable too. last is the item that differs by
// kind. A reply with another token belongs to another request.
func taken(cmd *redis.Cmd, token string) (got Range, last int64, err error) {
	reply, unconfirmed := decode(cmd, 16, 19)
	if unconfirmed != nil && !errors.Is(unconfirmed, ErrNotDurable) {
		return Range{}, 0, unconfirmed
	}
	if reply[0] != token {
		return Range{}, 0, fmt.Errorf("%w: it answers the request %q and not %q", ErrReply, reply[0], token)
	}
	got = Range{Prefix: reply[4], Tag: reply[5], Evidence: Evidence(reply[7]), Origin: reply[10], Durable: DurableState(reply[14])}
	texts := []string{reply[1], reply[2], reply[3], reply[6], reply[8], reply[9], reply[11], reply[12], reply[13], reply[15]}
	if err := numbers(texts, &got.Low, &got.High, &got.Epoch, &got.Jump, &got.Issued, &got.Seconds, &got.Ranges, &got.Written, &last, &got.Top); err != nil {
		return Range{}, 0, err
	}
	if len(reply) > 16 {
		if got.Settings, err = settingsOf(reply[16:]); err != nil {
			return Range{}, 0, err
		}
	}
	return got, last, unconfirmed
}
