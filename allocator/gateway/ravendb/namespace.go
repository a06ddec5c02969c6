package ravendb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/allocator/internal/fleet"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// namespace is a namespace that clients use as a database. Its fleet compares all masters before the first identifier and
// at each change of a prefix; only the first master serves.
type namespace struct {
	name     string
	keys     prefix.Keys
	operator *admin.Admin
	fleet    *fleet.Fleet
	server   *fleet.Server          // the one that serves, of fleet
	tag      atomic.Pointer[string] // as it was reported last, for the topology
}

// setTag records the node tag that the server reported. There has to be one.
func (n *namespace) setTag(tag string) error {
	if tag == "" {
		return noTag(n.name)
	}
	if *n.tag.Load() != tag {
		n.tag.Store(&tag)
	}
	return nil
}

// explain adds what to do to the error of a master without prefix and tag.
func (n *namespace) explain(err error) error {
	if errors.Is(err, scripts.ErrPrefixMissing) {
		return fmt.Errorf("%w; set one with hilo prefix set --tag A --namespace %s, a different one on each master", err, n.name)
	}
	return err
}

// issue issues a range with a call of counter.locked.
func (n *namespace) issue(ctx context.Context, r fleet.Request) (fleet.Reply, error) {
	n.fleet.Refresh(ctx)
	if err := n.fleet.AwaitBackoff(ctx, r.Name, n.server); err != nil {
		return fleet.Reply{}, err
	}
	reply, err := n.server.Issue(ctx, r)
	if err == nil {
		err = n.setTag(reply.Tag)
	}
	return reply, n.explain(err)
}

// atHome calls ask if the server is the home of identities, and the only one.
func (n *namespace) atHome(ctx context.Context, name string, ask func() error) error {
	n.fleet.Refresh(ctx)
	var elsewhere error
	err := n.fleet.AtHome(ctx, name, func(home *fleet.Server) error {
		if home != n.server {
			elsewhere = fmt.Errorf("%s: %w: %s is the home of identities, and RavenDB's clients are served by %s",
				name, scripts.ErrElsewhere, home.Name, n.server.Name)
			return nil
		}
		return ask()
	})
	return n.explain(cmp.Or(err, elsewhere))
}
