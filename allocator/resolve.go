package allocator

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// identityMark ends a text that asks for an identity, and no separator is it.
const identityMark = "|"

// Resolve gives the identifier that id asks for by its shape, shown with the separator "/":
//
//	companies/          the next server-side id, companies/0000000000000000027-A
//	companies|          the next identity, companies/1, never with prefix or tag
//	products/ravendb    itself: a semantic id is kept as it is, whatever it holds
//	the empty text      a random GUID (version 4)
//
// HiLo identifiers are not asked for in this way: see Next and Assign.
//
// Server-side ids and identities cost a round trip each. A GUID and a semantic id need no server and ignore ctx; after
// Close the semantic id is still kept, everything else is ErrClosed. A name that breaks the rules of a collection, as
// in "/" and "|" where there is none, is ErrInvalidName. Other errors: those of NextIdentity.
func (a *Allocator) Resolve(ctx context.Context, id string) (string, error) {
	if id == "" {
		return a.newGUID()
	}
	if name, ok := strings.CutSuffix(id, identityMark); ok {
		if err := a.validateAsked("identity", id, name); err != nil {
			return "", err
		}
		number, err := a.NextIdentity(ctx, name)
		if err != nil {
			return "", err
		}
		return name + a.opts.Separator + strconv.FormatInt(number, 10), nil
	}
	if name, ok := strings.CutSuffix(id, a.opts.Separator); ok {
		if err := a.validateAsked("server-side id", id, name); err != nil {
			return "", err
		}
		return a.nextServerSide(ctx, name)
	}
	return id, nil
}

// validateAsked checks name, the part of id before its last character.
func (a *Allocator) validateAsked(kind, id, name string) error {
	if err := prefix.ValidateCollection(name, a.opts.Separator); err != nil {
		return fmt.Errorf("allocator: %s asked for by %.64q: %w", kind, id, err)
	}
	return nil
}

func (a *Allocator) newGUID() (string, error) {
	if err := a.open("GUID"); err != nil {
		return "", err
	}
	guid, err := uuid.NewRandom()
	if err != nil { // the process replaced the source of randomness: uuid.SetRand
		return "", fmt.Errorf("allocator: GUID: %w", err)
	}
	return guid.String(), nil
}

// ServerSideLimit is the greatest number of a server-side identifier: it keeps one zero in front of the 19 digits, so
// that no HiLo identifier, which has none, is the same text.
const ServerSideLimit = 999_999_999_999_999_999

// nextServerSide gives `companies/0000000000000000027-A`: 19 digits, in the order of the calls, from one counter for
// all names of a server's namespace. Like ranges, it comes from the first server that gives one.
func (a *Allocator) nextServerSide(ctx context.Context, name string) (text string, err error) {
	if err := a.open(name); err != nil {
		return "", err
	}
	var got asked
	err = a.firstOf(func(s *server, _ bool) error {
		keys := scripts.Keys{Counter: s.keys.ServerSide(), Server: s.keys.Server(), Other: s.keys.Server()}
		got = a.lineOf(s, keys, min(a.opts.Limit, ServerSideLimit)).ask(ctx, &asker{name: name, count: 1})
		return got.err
	})
	if err != nil {
		return "", fmt.Errorf("allocator: %w", err)
	}
	text = fmt.Sprintf("%s%s%s%019d", name, a.opts.Separator, got.source.ServerPrefix, got.low)
	if got.source.NodeTag != "" {
		text += "-" + got.source.NodeTag
	}
	return text, nil
}
