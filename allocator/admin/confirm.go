package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// ErrNotConfirmed means that a write was made and is not known to be on every connected replica or, at a durable server, on disk, so
// that a failover or a crash can lose it. The text states what is missing. To repeat the call does no harm. The error matches
// allocator.ErrNotDurable too.
var ErrNotConfirmed error = notConfirmedError{}

type notConfirmedError struct{}

func (notConfirmedError) Error() string { return "written, but not confirmed" }
func (notConfirmedError) Unwrap() error { return scripts.ErrNotDurable }

// confirmed calls write, which runs scripts by the client that it is passed, and waits until every replica that was connected
// before has their writes. WAIT covers all earlier writes of the server too, because replicas acknowledge an offset of one stream.
// It covers that server only, so the replication id has to be the same before and after.
//
// durable is prefix.Server.Durable of the server. If it is set, confirmed also waits until the writes are on disk, and permits the
// numbers of counters that they raised.
func (m *Admin) confirmed(ctx context.Context, what, durable string, permits func() []scripts.PermitRequest, write func(redis.Scripter) error) error {
	before, err := m.replication(ctx)
	if err != nil {
		return attemptError(ctx, what, err)
	}
	client, within := redis.Scripter(m.client), m.waitTimeout()
	if before.replicas > 0 {
		client = scripts.Confirmed(m.client, before.replicas, within)
	}
	reason := ""
	err = write(client)
	switch {
	case errors.Is(err, scripts.ErrNotDurable):
		reason = strings.TrimPrefix(err.Error(), scripts.ErrNotDurable.Error()+": ")
	case err != nil:
		return attemptError(ctx, what, err)
	case before.forbidden && m.mode.NoReplicas:
	case before.forbidden:
		reason = "this user may not call INFO, so the connected replicas are not known; permit +info and +wait or, where the server has no replicas, " +
			"state it with --replicas-none (admin.Mode.NoReplicas)"
	case before.replicas > 0 && !scripts.Confirmable(m.client) && isCluster(ctx, m.client):
		reason = fmt.Sprintf("the client is a %T, and WAIT may have gone to another node of the cluster", m.client)
	default:
		if after, err := m.replication(ctx); err != nil {
			reason = "the server does not answer any more: " + err.Error()
		} else if after.id != before.id {
			reason = "the server was restarted or replaced meanwhile"
		}
	}
	if reason == "" && durable != "" {
		if err := m.onDisk(ctx, durable, permits); err != nil {
			reason = err.Error()
		}
	}
	if reason == "" {
		return nil
	}
	return fmt.Errorf("admin: %s: %w: %s", what, ErrNotConfirmed, reason)
}

// onDisk waits until what was written is on the disk of a durable server, for as long as a rewrite of its file is in the way, at
// most the timeout, and permits what was raised.
func (m *Admin) onDisk(ctx context.Context, durable string, permits func() []scripts.PermitRequest) error {
	var requests []scripts.PermitRequest
	if permits != nil {
		requests = permits()
	}
	send := func(ctx context.Context, requests ...scripts.PermitRequest) []scripts.Permitted {
		return scripts.Permit(ctx, m.client, requests...)
	}
	const step = 50 * time.Millisecond
	for end := time.Now().Add(m.mode.Timeout); ; {
		errs, err := scripts.Ask(ctx, send, m.keys.Server(), durable == prefix.DurableAlways, requests...)
		if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
			err = errs[i] // one of what may be thousands
		}
		if !errors.Is(err, scripts.ErrNotDurable) || !time.Now().Before(end) {
			return err
		}
		select {
		case <-time.After(step):
		case <-ctx.Done():
			return err
		}
	}
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
		return min(m.mode.Timeout, read/2)
	}
	return m.mode.Timeout
}
