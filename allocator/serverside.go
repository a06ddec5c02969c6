package allocator

import (
	"context"
	"fmt"

	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// serverSideLimit keeps one zero in front of the 19 digits, so that no HiLo
// identifier, which has none, is the same text.
const serverSideLimit = 999_999_999_999_999_999

// nextServerSide gives `companies/0000000000000000027-A`: 19 digits, in the
// order of the calls, from one counter for all names of the namespace.
func (a *Allocator) nextServerSide(ctx context.Context, name string) (string, error) {
	if err := prefix.ValidateCollection(name, a.opts.Separator); err != nil {
		return "", fmt.Errorf("allocator: server-side: %w", err)
	}
	k := a.server.keys
	i, err := a.asked(name, scripts.Keys{Counter: k.ServerSide(), Server: k.Server(), Other: k.Server()})
	if err != nil {
		return "", err
	}
	got, err := i.ask(ctx, scripts.IdentityRequest{Count: 1, Limit: min(a.opts.Limit, serverSideLimit)})
	if err != nil {
		return "", fmt.Errorf("allocator: %w", err)
	}
	adds, err := a.server.adding(got)
	if err != nil {
		return "", fmt.Errorf("allocator: %s: %w", name, err)
	}
	text := fmt.Sprintf("%s%s%s%019d", name, a.opts.Separator, adds.ServerPrefix, got.Low)
	if adds.NodeTag != "" {
		text += "-" + adds.NodeTag
	}
	return text, nil
}
