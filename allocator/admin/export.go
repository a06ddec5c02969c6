package admin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator/admin/info"
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

// Export returns all state of the namespace for Import on another server. A counter whose Origin is not the server's replication id
// gets a Margin, as large as the least jump that a script would make. That is the only evidence that writes may be lost, and
// without the margin lost numbers would be issued again.
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
	for state, err := range m.States(ctx) {
		if err != nil {
			return Export{}, err
		}
		if state.Origin != "" && before.id == "" {
			return Export{}, fmt.Errorf("admin: %w: %s %s has an Origin, and this user may not call INFO to compare it with; permit +info",
				scripts.ErrUnguarded, state.Kind, state.Name)
		}
		if state.Origin != "" && state.Origin != before.id {
			if state.Margin, err = m.margin(ctx, &state, all.Server.Durable != "", before); err != nil {
				return Export{}, err
			}
		}
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

// margin returns how many numbers above Max may be in use of a counter that was written before the server was restarted or promoted.
// take.lua adds no more at least. A counter of a durable server that was restarted reserved all of them.
func (m *Admin) margin(ctx context.Context, state *State, durable bool, node replication) (int64, error) {
	reserved := max(0, state.Raised-state.Max)
	kept, err := m.appendOnly(ctx)
	if err != nil || durable && kept && state.permitted && node.replicas == 0 && strings.Trim(node.before, "0") == "" {
		return reserved, err
	}
	unit := max(state.Block, 256)
	if state.Kind == KindHiLo {
		unit = max(state.Block, 16384)
	}
	units := int64(4)
	if !kept { // an hour instead of four minutes, since a snapshot may be so old
		units *= 15
	}
	if unit > (math.MaxInt64-reserved)/units {
		return math.MaxInt64 - state.Max, nil
	}
	return min(reserved+units*unit, math.MaxInt64-state.Max), nil
}

// appendOnly reports whether INFO shows that the server has an append-only file.
func (m *Admin) appendOnly(ctx context.Context) (bool, error) {
	node, err := m.node(ctx)
	if err != nil {
		return false, attemptError(ctx, m.keys.Server(), err)
	}
	text, err := node.Info(ctx, "persistence").Result()
	if _, answered := errors.AsType[redis.Error](err); err != nil && !answered {
		return false, attemptError(ctx, m.keys.Server(), err)
	}
	return info.Fields(text)["aof_enabled"] == "1", nil
}
