package cli

import (
	"context"
	crand "crypto/rand"
	"slices"
	"time"
)

const checkShared = "shared"

// examineTogether is all checks that take several servers, of those that answer.
func (d doctor) examineTogether(ctx context.Context, patients []*patient) []finding {
	var there []*patient
	var adds []serverAdds
	var places []place
	for _, p := range patients {
		if p.away == nil {
			there = append(there, p)
			adds = append(adds, p.adds)
			places = append(places, ownPlace{d, p})
		}
	}
	all := comparePrefixes(adds)
	if len(patients) == 1 {
		return all
	}
	known := make(pairs)
	all = append(all, sameData(there, known)...)
	return append(all, checkSharing(ctx, places, known, d.settle)...)
}

// pairs are two servers each, by name, of which something is known already.
type pairs map[[2]string]bool

func (p pairs) add(a, b string) { p[[2]string{a, b}], p[[2]string{b, a}] = true, true }

// sameData finds servers that are one, by what INFO says of them, and adds them to known.
func sameData(patients []*patient, known pairs) []finding {
	var all []finding
	for i, p := range patients {
		for _, other := range patients[:i] {
			switch {
			case p.shares(other, "run_id"):
				all = append(all, found(checkShared, levelFault, "%s and %s are one server (same run_id)", other.name, p.name).
					because("There is nothing to go on at when it fails, and workers refuse it.").remedy("Name each server once."))
			case p.shares(other, "master_replid"):
				all = append(all, found(checkShared, levelFault, "%s and %s have the same data (same replication id)", other.name, p.name).
					because("One is a replica of the other, or was, and no second master. Workers refuse it.").
					remedy("Name masters that do not replicate from each other."))
			default:
				continue
			}
			known.add(p.name, other.name)
		}
	}
	return all
}

// shares tells whether a node of each says the same of itself.
func (p *patient) shares(other *patient, field string) bool {
	return slices.ContainsFunc(p.nodes, func(a node) bool {
		return a.info[field] != "" && slices.ContainsFunc(other.nodes, func(b node) bool { return b.info[field] == a.info[field] })
	})
}

// place is where a nonce can be left.
type place interface {
	server() string
	leave(ctx context.Context, nonce string) error
	sees(ctx context.Context, nonce string) bool
	remove(ctx context.Context, nonce string) []finding
}

// lookAgain is how often a nonce is looked for.
const lookAgain = 50 * time.Millisecond

// checkSharing leaves a nonce at each place and looks for it at all others, until settle has passed.
func checkSharing(ctx context.Context, places []place, known pairs, settle time.Duration) []finding {
	var all []finding
	left := make(map[string]place)
	for _, p := range places {
		nonce := crand.Text()
		if err := p.leave(ctx, nonce); err != nil {
			all = append(all, on(p.server(), []finding{found(checkShared, levelUnknown, "nothing could be written to it that others might see: %s", plain(err)).
				because("Masters that replicate to each other give the same numbers, unless each has a namespace of its own.")})...)
			continue
		}
		left[nonce] = p
	}
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	shared := make(pairs)
	for deadline := time.Now().Add(settle); ; {
		for nonce, p := range left {
			for _, other := range places {
				pair := [2]string{p.server(), other.server()}
				if pair[0] != pair[1] && !known[pair] && !shared[pair] && other.sees(ctx, nonce) {
					shared[pair] = true
				}
			}
		}
		if ctx.Err() != nil || !time.Now().Before(deadline) {
			break
		}
		select {
		case <-again.C:
		case <-ctx.Done():
		}
	}
	for nonce, p := range left {
		all = append(all, on(p.server(), p.remove(ctx, nonce))...)
	}
	met := sharing(places, shared)
	if len(met)+len(known) == 0 && len(left) == len(places) && len(places) > 1 {
		met = append(met, found(checkShared, levelOK, "what is written on one server comes up on no other"))
	}
	return append(all, met...)
}

// sharing is what it means that a server sees what was left on another.
func sharing(places []place, shared pairs) []finding {
	var all []finding
	for i, p := range places {
		for _, other := range places[:i] {
			a, b := other.server(), p.server()
			from, to := shared[[2]string{a, b}], shared[[2]string{b, a}]
			var what string
			switch {
			case from && to:
				what = "%s and %s see what is written on either: they replicate to each other, or are one"
			case from:
				what = "what is written on %s comes up on %s"
			case to:
				a, b = b, a
				what = "what is written on %s comes up on %s"
			default:
				continue
			}
			all = append(all, found(checkShared, levelFault, what, a, b).
				because("One overwrites the other's counters, and numbers are given twice.").
				remedy("Stop the replication, or give each a namespace of its own: allocator.Server.Namespace."))
		}
	}
	return all
}

// ownPlace is a server, and a key of the doctor's own for each nonce.
type ownPlace struct {
	d doctor
	p *patient
}

const fieldNonce = "Nonce"

func (o ownPlace) server() string { return o.p.name }

func (o ownPlace) key(nonce string) string { return o.d.own(nonce) }

func (o ownPlace) leave(ctx context.Context, nonce string) error {
	err := o.p.client.HSet(ctx, o.key(nonce), fieldNonce, nonce).Err()
	if err == nil {
		o.p.client.PExpire(ctx, o.key(nonce), leftFor)
	}
	return err
}

func (o ownPlace) sees(ctx context.Context, nonce string) bool {
	got, err := o.p.client.HMGet(ctx, o.key(nonce), fieldNonce).Result()
	return err == nil && got[0] == nonce
}

func (o ownPlace) remove(ctx context.Context, nonce string) []finding {
	return o.d.remove(ctx, o.p.client, o.key(nonce), fieldNonce)
}
