package doctor

import (
	"context"
	crand "crypto/rand"
	"slices"
	"time"

	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/finding"
)

const checkShared = "shared"

// examineTogether is all checks that take several servers, of those that answer.
func (d doctor) examineTogether(ctx context.Context, there []*patient, of int) []finding.Finding {
	var adds []finding.Adds
	for _, p := range there {
		adds = append(adds, p.adds)
	}
	s := finding.Sheet{Findings: finding.ComparePrefixes(adds)}
	if of > 1 {
		known := sameData(there, &s)
		checkSharing(ctx, there, known, &s)
	}
	return s.Findings
}

// pairs are two servers each, by name, of which something is known.
type pairs map[[2]string]bool

// sameData finds servers that are one, by what INFO says of them.
func sameData(patients []*patient, s *finding.Sheet) (known pairs) {
	known = make(pairs)
	for i, p := range patients {
		for _, other := range patients[:i] {
			switch {
			case p.shares(other, "run_id"):
				s.Add(checkShared, finding.Fault, "%s and %s are one server (same run_id)", other.Name, p.Name).
					Because("There is nothing to go on at when it fails, and workers refuse it.").Remedy("Name each server once.")
			case p.shares(other, "master_replid"):
				s.Add(checkShared, finding.Fault, "%s and %s have the same data (same replication id)", other.Name, p.Name).
					Because("One is a replica of the other, or was, and no second master. Workers refuse it.").
					Remedy("Name masters that do not replicate from each other.")
			default:
				continue
			}
			known[[2]string{p.Name, other.Name}], known[[2]string{other.Name, p.Name}] = true, true
		}
	}
	return known
}

// shares tells whether a node of each says the same of itself.
func (p *patient) shares(other *patient, field string) bool {
	return slices.ContainsFunc(p.nodes, func(a node) bool {
		return a.info[field] != "" && slices.ContainsFunc(other.nodes, func(b node) bool { return b.info[field] == a.info[field] })
	})
}

// place is where a nonce can be left.
type place interface {
	name() string
	leave(ctx context.Context, nonce string) error
	sees(ctx context.Context, nonce string) bool
	clear(ctx context.Context, nonce string) []finding.Finding
}

const (
	settle    = time.Second           // within which what is written on one master would be seen on another
	lookAgain = 50 * time.Millisecond // how often a nonce is looked for
)

// checkSharing leaves a nonce at each place and looks for it at all others, until settle has passed.
func checkSharing[P place](ctx context.Context, places []P, known pairs, s *finding.Sheet) {
	left := make(map[string]P)
	for _, p := range places {
		nonce := crand.Text()
		err := p.leave(ctx, nonce)
		if err == nil {
			left[nonce] = p
			continue
		}
		s.Server = p.name()
		s.Add(checkShared, finding.Unknown, "nothing could be written to it that others might see: %s", exit.Plain(err)).
			Because("Masters that replicate to each other give the same numbers, unless each has a namespace of its own.")
		s.Server = ""
	}
	shared := make(pairs)
	for deadline := time.Now().Add(settle); ; base.Sleep(ctx, lookAgain) {
		for nonce, p := range left {
			for _, other := range places {
				pair := [2]string{p.name(), other.name()}
				if pair[0] != pair[1] && !known[pair] && !shared[pair] && other.sees(ctx, nonce) {
					shared[pair] = true
				}
			}
		}
		if ctx.Err() != nil || !time.Now().Before(deadline) {
			break
		}
	}
	for nonce, p := range left {
		s.Findings = append(s.Findings, p.clear(ctx, nonce)...)
	}
	if len(shared)+len(known) == 0 && len(left) == len(places) && len(places) > 1 {
		s.Add(checkShared, finding.OK, "what is written on one server comes up on no other")
	}
	for i, p := range places {
		for _, other := range places[:i] {
			a, b := other.name(), p.name()
			what := "what is written on %s comes up on %s"
			switch from, to := shared[[2]string{a, b}], shared[[2]string{b, a}]; {
			case from && to:
				what = "%s and %s see what is written on either: they replicate to each other, or are one"
			case to:
				a, b = b, a
			case !from:
				continue
			}
			s.Add(checkShared, finding.Fault, what, a, b).
				Because("One overwrites the other's counters, and numbers are given twice.").
				Remedy("Stop the replication, or give each a namespace of its own: allocator.Server.Namespace.")
		}
	}
}

const fieldNonce = "Nonce"

func (p *patient) name() string { return p.Name }

func (p *patient) leave(ctx context.Context, nonce string) error {
	err := p.client.HSet(ctx, p.own(nonce), fieldNonce, nonce).Err()
	if err == nil {
		p.client.PExpire(ctx, p.own(nonce), leftFor)
	}
	return err
}

func (p *patient) sees(ctx context.Context, nonce string) bool {
	got, err := p.client.HMGet(ctx, p.own(nonce), fieldNonce).Result()
	return err == nil && got[0] == nonce
}

func (p *patient) clear(ctx context.Context, nonce string) []finding.Finding {
	p.Findings = nil // what was found before is in the report
	p.remove(ctx, p.own(nonce), fieldNonce)
	return p.Findings
}
