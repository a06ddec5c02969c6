package target

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/cli/internal/exit"
)

// Open makes a client of the target and does no I/O to servers of others; embedded: becomes a server in this process, which
// others can reach too. A person waits: one dial, not five, since go-redis tries the command itself again; and no longer than
// asked for, where the URL says nothing of time. What only upgrades of managed servers need stays off, so that nothing is sent
// but commands that an ACL would allow.
func (t *Target) Open(timeout time.Duration) (client redis.UniversalClient, closeAll func(), err error) {
	stop := func() {}
	if t.Embedded {
		server, err := miniredis.Run()
		if err != nil {
			return nil, nil, fmt.Errorf("the embedded server does not start: %w", err)
		}
		stop = server.Close
		t.Embedded, t.URL = false, "redis://"+server.Addr()+"/0"
		t.options = &redis.UniversalOptions{Addrs: []string{server.Addr()}}
	}
	o := *t.options
	o.DialTimeout, o.ReadTimeout = cmp.Or(o.DialTimeout, timeout), cmp.Or(o.ReadTimeout, timeout)
	o.DialerRetries, o.ContextTimeoutEnabled = 1, true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	client = redis.NewUniversalClient(&o)
	return client, func() { _ = client.Close(); stop() }, nil
}

// Alone is the target as servers of which there is one.
func (t Target) Alone() Servers { return Servers{Targets: []Target{t}} }

// Sentence says what was tried, what came back, and what to do.
func (t Target) Sentence(err error, timeout time.Duration) string {
	what, remedy := t.Diagnose(err, timeout)
	return what + "; " + remedy
}

// Diagnose says what is wrong with a server that does not serve, and what to do.
func (t Target) Diagnose(err error, timeout time.Duration) (what, remedy string) {
	hostname, misnamed := errors.AsType[x509.HostnameError](err)
	certificate, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	operation, broken := errors.AsType[*net.OpError](err)
	hungUp := errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
	said := ""
	answer, answered := errors.AsType[redis.Error](err)
	if answered {
		said = strings.TrimSuffix(answer.Error(), ".")
	}
	switch {
	case t.options.MasterName != "" && errors.Is(err, redis.Nil):
		return fmt.Sprintf("there is no Redis %s: the sentinels know no master of this name", t.Addr), "check it in --redis"
	case misnamed:
		what, remedy = fmt.Sprintf("shows a certificate for other names (%s)", hostname), "name it in --redis as its certificate does"
	case untrusted:
		what, remedy = fmt.Sprintf("shows a certificate that is not trusted (%s)", certificate.Err), "name its authority with --tls-ca FILE"
	case broken && (operation.Op == "remote error" || t.options.TLSConfig != nil && hungUp):
		// It is an alert of the server's, as crypto/tls words it, or the server was gone before that could be read.
		what = fmt.Sprintf("refuses the connection (%s)", operation.Err)
		remedy = "it may want a certificate: --tls-cert FILE and --tls-key FILE"
	case !answered:
		remedy = "start one, or name it with --redis URL"
		if t.options.TLSConfig != nil {
			remedy += ", with redis:// where it speaks no TLS"
		} else if errors.Is(err, io.EOF) {
			remedy += ", with rediss:// where it speaks TLS"
		}
		return fmt.Sprintf("no Redis answers at %s: %s", t.Addr, Cause(err, timeout)), remedy
	case redis.HasErrorPrefix(err, "NOAUTH"), strings.Contains(said, "unauthenticated"): // the latter to a long command
		what, remedy = "wants a login", "give user and password, as in --redis redis://USER:PASSWORD@HOST"
	case redis.IsAuthError(err), redis.HasErrorPrefix(err, "AUTH"), redis.HasErrorPrefix(err, "invalid password"):
		what, remedy = "refuses the login ("+said+")", "check user and password in --redis"
	case Forbidden(err):
		what, remedy = "does not let this user do it ("+said+")", "grant it, or name another user in --redis"
	case redis.IsLoadingError(err):
		what, remedy = "is still loading its data ("+said+")", "try again in a moment"
	case redis.IsReadOnlyError(err):
		what, remedy = "is a replica and takes no writes ("+said+")", "name its primary with --redis"
	case redis.HasErrorPrefix(err, "MOVED") && !t.IsCluster():
		what, remedy = "is one of a cluster, of which another has this ("+said+")", "name the cluster, as in --redis redis+cluster://HOST"
	case strings.HasSuffix(said, "cluster support disabled"):
		what, remedy = "is none of a cluster", "name it as in --redis redis://HOST"
	default:
		what, remedy = "does not serve this ("+said+")", "see to the server, or name another with --redis"
	}
	return "Redis at " + t.Addr + " " + what, remedy
}

// Forbidden reports whether the user lacks a right, be it within a script, for which each version of Redis has words of its own.
func Forbidden(err error) bool {
	return redis.IsPermissionError(err) || err != nil &&
		(strings.Contains(err.Error(), "ACL failure in script") || strings.Contains(err.Error(), "can't run this command or subcommand"))
}

// Cause is the innermost reason, as the operating system words it.
func Cause(err error, timeout time.Duration) string {
	if operation, broken := errors.AsType[*net.OpError](err); broken {
		return operation.Error()
	}
	if late, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err); ok && late.Timeout() {
		return fmt.Sprintf("nothing came back within %s (--timeout)", timeout)
	}
	if _, reason, ok := strings.Cut(err.Error(), allocator.ErrUnavailable.Error()+": "); ok {
		return reason
	}
	return exit.Plain(err)
}

// Brief is why a server does not answer, in few words.
func Brief(err error, timeout time.Duration) string {
	if answer := redis.Error(nil); errors.As(err, &answer) {
		return strings.TrimSuffix(answer.Error(), ".")
	}
	if number, ok := errors.AsType[syscall.Errno](err); ok {
		return number.Error()
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Sprintf("no answer within %s", timeout)
	}
	return Cause(err, timeout)
}

// ReplicaOptions are those of the target, at another address. The login of a server is that of its replicas.
func (t Target) ReplicaOptions(addr string) *redis.Options {
	return &redis.Options{
		Addr: addr, Username: t.options.Username, Password: t.options.Password, TLSConfig: t.options.TLSConfig,
		MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true,
	}
}

// Label is what a server is called: its name or, if it has none, its address.
func (t Target) Label() string { return cmp.Or(t.Name, t.Addr) }
