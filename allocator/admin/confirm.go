package admin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts"
)

// ErrNotConfirmed means that a write was made and is not known to be on every connected replica, so that a failover can lose
// it. The text states how many replicas acknowledged it and how many are connected, or why that is not known. To repeat the
// call does no harm. The error matches allocator.ErrNotDurable too.
var ErrNotConfirmed error = notConfirmedError{}

type notConfirmedError struct{}

func (notConfirmedError) Error() string { return "written, but not confirmed" }
func (notConfirmedError) Unwrap() error { return scripts.ErrNotDurable }

// WithTimeout returns an Admin that waits up to d, and not 1 s, for replicas to acknowledge a write and for the server to
// complete a rewrite of its AOF. The wait for replicas is at most half the client's read timeout.
func (m *Admin) WithTimeout(d time.Duration) *Admin {
	return m.with(func(other *Admin) { other.timeout = d })
}

// WithoutReplicas returns an Admin for a server without INFO, such as one behind a proxy, which the caller states has no
// replicas, so that there is nothing to wait for after a write. Where INFO shows replicas it has no effect.
func (m *Admin) WithoutReplicas() *Admin { return m.with(func(other *Admin) { other.alone = true }) }

// confirmed calls write, which runs scripts by the client that it is passed, and waits until every replica that was connected
// before, and so many at least, have their writes. WAIT covers all earlier writes of the server too, because replicas
// acknowledge an offset of one stream. It covers that server only, so the replication id has to be the same before and after.
func (m *Admin) confirmed(ctx context.Context, what string, least int, write func(redis.Scripter) error) error {
	before, err := m.replication(ctx)
	if err != nil {
		return attemptError(ctx, what, err)
	}
	client, within := redis.Scripter(m.client), m.waitTimeout()
	replicas := max(before.replicas, least)
	if replicas > 0 {
		client = scripts.Durable(m.client, scripts.Durability{Replicas: replicas, Timeout: within})
	}
	reason := ""
	err = write(client)
	switch {
	case errors.Is(err, scripts.ErrNotDurable):
		reason = strings.TrimPrefix(err.Error(), scripts.ErrNotDurable.Error()+": ")
	case err != nil:
		return attemptError(ctx, what, err)
	case before.forbidden && m.alone:
	case before.forbidden:
		reason = "this user may not call INFO, so the connected replicas are not known; permit +info and +wait or, where the server has no replicas, " +
			"state it with --replicas-none (Admin.WithoutReplicas)"
	case replicas > 0 && !scripts.Confirmable(m.client) && isCluster(ctx, m.client):
		reason = fmt.Sprintf("the client is a %T, and WAIT may have gone to another node of the cluster", m.client)
	default:
		if after, err := m.replication(ctx); err != nil {
			reason = "the server does not answer any more: " + err.Error()
		} else if after.id != before.id {
			reason = "the server was restarted or replaced meanwhile"
		}
	}
	if reason == "" {
		return nil
	}
	return fmt.Errorf("admin: %s: %w: %s", what, ErrNotConfirmed, reason)
}

// waitTimeout returns how long to wait for replicas. WAIT has to reply before the client's read timeout.
func (m *Admin) waitTimeout() time.Duration {
	var read time.Duration
	switch client := m.client.(type) {
	case *redis.Client:
		read = client.Options().ReadTimeout
	case *redis.ClusterClient:
		read = client.Options().ReadTimeout
	}
	if read > 0 {
		return min(m.timeout, read/2)
	}
	return m.timeout
}
