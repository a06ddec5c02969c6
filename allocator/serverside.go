package allocator

import (
	"context"
	"errors"
	"fmt"

	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// ServerSideLimit is the greatest number of a server-side identifier: it keeps
// one zero in front of the 19 digits, so that no HiLo identifier, which has
// none, is the same text.
const ServerSideLimit = 999_999_999_999_999_999

// nextServerSide gives `companies/0000000000000000027-A`: 19 digits, in the
// order of the calls, from one counter for all names of a server's namespace.
// Like ranges, it comes from the first server that gives one, and from those that
// were left for others last.
func (a *Allocator) nextServerSide(ctx context.Context, name string) (string, error) {
	if err := prefix.ValidateCollection(name, a.opts.Separator); err != nil {
		return "", fmt.Errorf("allocator: server-side: %w", err)
	}
	var failures []error
	for _, s := range a.inOrder() {
		text, err := a.serverSide(ctx, s, name)
		if err == nil || !errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrNotDurable) && !isStrayed(err) || ctx.Err() != nil {
			return text, err
		}
		failures = append(failures, err)
	}
	return "", errors.Join(failures...)
}

func (a *Allocator) serverSide(ctx context.Context, s *server, name string) (string, error) {
	i, err := a.asked(s, name, scripts.Keys{Counter: s.keys.ServerSide(), Server: s.keys.Server(), Other: s.keys.Server()})
	if err != nil {
		return "", err
	}
	got, err := i.ask(ctx, scripts.IdentityRequest{Count: 1, Limit: min(a.opts.Limit, ServerSideLimit)})
	if err != nil {
		return "", fmt.Errorf("allocator: %w", err)
	}
	from, err := a.source(s, got)
	s.report(a.now(), err)
	if err != nil {
		return "", fmt.Errorf("allocator: %s: %w", s.on(name), err)
	}
	text := fmt.Sprintf("%s%s%s%019d", name, a.opts.Separator, from.ServerPrefix, got.Low)
	if from.NodeTag != "" {
		text += "-" + from.NodeTag
	}
	return text, nil
}
