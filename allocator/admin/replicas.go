package admin

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// checkReplicas returns the server's replication id, and an error if it may not state s.Durable, replicas:N.
func (m *Admin) checkReplicas(ctx context.Context, now, s prefix.Server) (origin string, err error) {
	key := m.keys.Server()
	if now.Durable == prefix.DurableAlways {
		return "", fmt.Errorf("admin: %w: key %s states Durable of %s, that its data is nowhere else; take that back first, with an empty Durable",
			ErrNotDurableServer, key, now.Durable)
	}
	node, err := m.replication(ctx)
	switch {
	case err != nil:
		return "", attemptError(ctx, key, err)
	case node.isReplica:
		return "", fmt.Errorf("admin: %w: it is a replica: name its primary", ErrNotDurableServer)
	case node.id == "":
		return "", fmt.Errorf("admin: %w: INFO replication, without which no script sets it; permit +info", ErrNotDurableServer)
	case node.replicas < s.Replicas():
		return "", fmt.Errorf("admin: %w: the number of connected replicas is %d: Durable of %s needs %d or more; start them with REPLICAOF, and set it then",
			ErrNotDurableServer, node.replicas, s.Durable, s.Replicas())
	}
	return node.id, nil
}

// confirmedAsRequired is confirmed by as many replicas at least as the server's Durable requires. Settings that are corrupt are
// left to the scripts to refuse.
func (m *Admin) confirmedAsRequired(ctx context.Context, what string, write func(redis.Scripter) error) error {
	s, err := m.ServerPrefix(ctx)
	if err != nil && !errors.Is(err, scripts.ErrCorrupt) {
		return err
	}
	return m.confirmed(ctx, what, s.Replicas(), write)
}

// checkAway returns ErrNeedsTrust if fewer replicas are connected than were when Durable was set to replicas:N. One that is
// away keeps the word. If it were promoted later, before it is synchronized, counters would jump by the small gap of replicas
// that have every number, which it lacks.
func (m *Admin) checkAway(ctx context.Context, now prefix.Server) error {
	if m.trusting {
		return nil
	}
	key := m.keys.Server()
	text, err := m.client.HGet(ctx, key, "DurableReplicas").Result()
	if err != nil && err != redis.Nil { //nolint:errorlint // it is that value
		return attemptError(ctx, key, err)
	}
	were, _ := strconv.Atoi(text)
	were = max(were, now.Replicas())
	node, err := m.replication(ctx)
	if err != nil {
		return attemptError(ctx, key, err)
	}
	if node.replicas >= were {
		return nil
	}
	return fmt.Errorf("admin: %w: the number of connected replicas is %d, and was %d when Durable became %s; one that is away keeps the word, and has to be "+
		"synchronized before it is ever promoted", ErrNeedsTrust, node.replicas, were, now.Durable)
}
