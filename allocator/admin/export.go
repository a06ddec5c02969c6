package admin

import (
	"context"
	"errors"
	"fmt"

	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// ErrReplica means that Export was called for a replica, which may lack the newest writes and shows no evidence of that.
var ErrReplica = errors.New("server is a replica")

// Export is all state of a namespace.
type Export struct {
	Server      prefix.Server
	Replication string // the server's replication id, "" if unknown
	States      []State
}

// Export returns all state of the namespace for Import on another server. It marks each counter as Lost whose Origin is not
// the server's replication id. That is the only evidence that writes may be lost, and without the mark lost numbers would be
// issued again. A server that states Durable, and whose INFO agrees, lost nothing by a restart.
//
// Export returns the errors of States, ErrIncomplete also if the replication id changed meanwhile, ErrReplica, and
// ErrUnguarded if a counter has an Origin and INFO, with which to compare it, is not permitted.
func (m *Admin) Export(ctx context.Context) (Export, error) {
	key := m.keys.Server()
	before, err := m.replication(ctx)
	if err != nil {
		return Export{}, attemptError(ctx, key, err)
	}
	if before.isReplica {
		return Export{}, fmt.Errorf("admin: %w, which may lack the newest writes; export its primary", ErrReplica)
	}
	all := Export{Replication: before.id}
	if all.Server, err = m.ServerPrefix(ctx); err != nil {
		return Export{}, err
	}
	described, err := scripts.Describe(ctx, m.client, key)
	if err != nil {
		return Export{}, attemptError(ctx, key, err)
	}
	for state, err := range m.States(ctx) {
		if err != nil {
			return Export{}, err
		}
		if state.Origin != "" && before.id == "" {
			return Export{}, fmt.Errorf("admin: %w: %s %s has an Origin, and this user may not call INFO to compare it with; permit +info",
				scripts.ErrUnguarded, state.Kind, state.Name)
		}
		state.Lost = state.Origin != "" && state.Origin != before.id && described.Durable != scripts.DurableAlways
		all.States = append(all.States, state)
	}
	after, err := m.replication(ctx)
	if err == nil && (after.id != before.id || after.isReplica) {
		err = fmt.Errorf("%w: the server was restarted or replaced during the export; try again", ErrIncomplete)
	}
	if err != nil {
		err = attemptError(ctx, key, err)
	}
	return all, err
}
