package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/hilo-id/hilo/allocator"
)

// open makes a client of the target, and for embedded: the server too. It does no I/O to servers of others.
func (t target) open(timeout time.Duration) (client redis.UniversalClient, closeAll func(), err error) {
	// A person waits: one dial, not five, since go-redis tries the command itself again; and no longer than asked
	// for, where the URL says nothing of time. What only upgrades of managed servers need stays off, so that nothing
	// is sent but commands that an ACL would allow.
	const dials = 1
	noUpgrades := &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	switch {
	case t.single != nil:
		o := *t.single
		o.DialTimeout, o.ReadTimeout = cmp.Or(o.DialTimeout, timeout), cmp.Or(o.ReadTimeout, timeout)
		o.DialerRetries, o.ContextTimeoutEnabled, o.MaintNotificationsConfig = dials, true, noUpgrades
		client = redis.NewClient(&o)
	case t.failover != nil:
		o := *t.failover
		o.DialTimeout, o.ReadTimeout = cmp.Or(o.DialTimeout, timeout), cmp.Or(o.ReadTimeout, timeout)
		o.DialerRetries, o.ContextTimeoutEnabled = dials, true
		client = redis.NewFailoverClient(&o)
	case t.cluster != nil:
		o := *t.cluster
		o.DialTimeout, o.ReadTimeout = cmp.Or(o.DialTimeout, timeout), cmp.Or(o.ReadTimeout, timeout)
		o.DialerRetries, o.ContextTimeoutEnabled, o.MaintNotificationsConfig = dials, true, noUpgrades
		client = redis.NewClusterClient(&o)
	case t.embedded:
		server := miniredis.NewMiniRedis()
		if err := server.StartAddr("127.0.0.1:0"); err != nil {
			return nil, nil, fmt.Errorf("the embedded server does not start: %w", err)
		}
		client = redis.NewClient(&redis.Options{
			Addr:                     server.Addr(),
			ReadTimeout:              timeout,
			ContextTimeoutEnabled:    true,
			MaintNotificationsConfig: noUpgrades,
		})
		return client, func() { _ = client.Close(); server.Close() }, nil
	default:
		panic("bug: a target without options")
	}
	return client, func() { _ = client.Close() }, nil
}

// use opens the target for as long as do runs, and makes a sentence of an error that is the server's.
func (t target) use(ctx context.Context, timeout time.Duration, do func(redis.UniversalClient) error) error {
	client, closeAll, err := t.open(timeout)
	if err != nil {
		return err
	}
	defer closeAll()
	return explained(ctx, do(client), func(err error) string { return t.sentence(err, timeout) })
}

// explained is err with its exit code and, where a server is to blame, with the sentence about it.
func explained(ctx context.Context, err error, sentence func(error) string) error {
	known := (*failure)(nil)
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case ctx.Err() != nil: // by a signal; go-redis does not always say so
		return ctx.Err()
	case errors.Is(err, allocator.ErrNotDurable): // it served
		return err
	case errors.Is(err, allocator.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded):
		return &failure{code: exitUnavailable, text: sentence(err), cause: err}
	}
	return err
}

// sentence says what was tried, what came back, and what to do.
func (t target) sentence(err error, timeout time.Duration) string {
	what, remedy := t.diagnose(err, timeout)
	return what + "; " + remedy
}

// diagnose says what is wrong with a server that does not serve, and what to do.
func (t target) diagnose(err error, timeout time.Duration) (what, remedy string) {
	if t.failover != nil && errors.Is(err, redis.Nil) {
		return fmt.Sprintf("there is no Redis %s: the sentinels know no master of this name", t.addr), "check it in --redis"
	}
	if what, remedy = t.mistrust(err); what != "" {
		return what, remedy
	}
	answer := redis.Error(nil)
	if !errors.As(err, &answer) {
		return fmt.Sprintf("no Redis answers at %s: %s", t.addr, cause(err, timeout)), "start one, or name it with --redis URL"
	}
	said := strings.TrimSuffix(answer.Error(), ".")
	switch {
	case redis.HasErrorPrefix(err, "NOAUTH"), strings.Contains(said, "unauthenticated"): // the latter to a long command
		return fmt.Sprintf("Redis at %s wants a login", t.addr), "give user and password, as in --redis redis://USER:PASSWORD@HOST"
	case redis.IsAuthError(err), redis.HasErrorPrefix(err, "AUTH"), redis.HasErrorPrefix(err, "invalid password"):
		return fmt.Sprintf("Redis at %s refuses the login (%s)", t.addr, said), "check user and password in --redis"
	case redis.IsPermissionError(err):
		return fmt.Sprintf("Redis at %s does not let this user do it (%s)", t.addr, said), "grant it, or name another user in --redis"
	case redis.IsLoadingError(err):
		return fmt.Sprintf("Redis at %s is still loading its data (%s)", t.addr, said), "try again in a moment"
	case redis.IsReadOnlyError(err):
		return fmt.Sprintf("Redis at %s is a replica and takes no writes (%s)", t.addr, said), "name its primary with --redis"
	}
	return fmt.Sprintf("Redis at %s does not serve this (%s)", t.addr, said), "see to the server, or name another with --redis"
}

// cause is the innermost reason, as the operating system words it.
func cause(err error, timeout time.Duration) string {
	var operation *net.OpError
	switch {
	case errors.As(err, &operation):
		return operation.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("nothing came back within %s (--timeout)", timeout)
	}
	if _, reason, ok := strings.Cut(err.Error(), allocator.ErrUnavailable.Error()+": "); ok {
		return reason
	}
	return plain(err)
}
