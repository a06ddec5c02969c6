package allocator

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/hilo-id/hilo/allocator/internal/fleet"
	"github.com/hilo-id/hilo/prefix"
)

// Resolve returns the identifier that id requests by its form. With the separator "/" that is
//
//	companies/          the next server-side id, companies/0000000000000000027-A
//	companies|          the next identity, companies/1, never with prefix or tag
//	products/ravendb    id itself, a semantic id, whatever it holds
//	the empty text      a random GUID (version 4)
//
// It issues no HiLo identifiers. Next and Assign do.
//
// Server-side ids and identities cost a round trip each. A GUID and a semantic id need no server and ignore ctx. After Close
// a semantic id is still returned, and everything else is ErrClosed. A name that breaks the rules of a collection, such as
// the empty name of "/" and "|", is ErrInvalidName. The other errors are those of NextIdentity.
func (a *Allocator) Resolve(ctx context.Context, id string) (string, error) {
	if id == "" {
		return a.newGUID()
	}
	if name, ok := strings.CutSuffix(id, identityMark); ok {
		number, err := a.NextIdentity(ctx, id)
		if err != nil {
			return "", err
		}
		return name + a.opts.Separator + strconv.FormatInt(number, 10), nil
	}
	if name, ok := strings.CutSuffix(id, a.opts.Separator); ok {
		return a.nextServerSide(ctx, name)
	}
	return id, nil
}

func (a *Allocator) newGUID() (string, error) {
	if err := a.open("GUID"); err != nil {
		return "", err
	}
	guid, err := uuid.NewRandom()
	if err != nil { // the process replaced the source of randomness with uuid.SetRand
		return "", fmt.Errorf("allocator: GUID: %w", err)
	}
	return guid.String(), nil
}

// nextServerSide issues companies/0000000000000000027-A, with 19 digits and in the order of the calls, from one counter for
// all names of a server's namespace. Like a range, it comes from the first server that serves.
func (a *Allocator) nextServerSide(ctx context.Context, name string) (text string, err error) {
	if err := prefix.ValidateCollection(name, a.opts.Separator); err != nil {
		return "", fmt.Errorf("allocator: server-side id requested by %.64q: %w", name+a.opts.Separator, err)
	}
	if err := a.open(name); err != nil {
		return "", err
	}
	if err := a.fleet.AwaitBackoff(ctx, name, a.fleet.Servers()...); err != nil {
		return "", fmt.Errorf("allocator: %w", err)
	}
	var got fleet.Result
	err = a.fleet.First(func(s *fleet.Server, _ bool) error {
		got = s.Take(ctx, fleet.Request{
			Kind: fleet.ServerSide, Name: name, Count: 1, Limit: min(a.opts.Limit, prefix.MaxServerSide),
		})
		return got.Err
	})
	if err != nil {
		return "", fmt.Errorf("allocator: %w", err)
	}
	text = fmt.Sprintf("%s%s%s%019d", name, a.opts.Separator, got.Issuer.Desc.ServerPrefix, got.Low)
	if tag := got.Issuer.Desc.NodeTag; tag != "" {
		text += "-" + tag
	}
	return text, nil
}
