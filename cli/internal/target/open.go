package target

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/cli/internal/exit"
)

// Open returns a client of the target. It does no I/O, except that it starts the server of embedded:, which other processes
// can reach too. Because a person waits, timeouts that the URL does not set are timeout. Of the recommendations of the library
// all but one apply: the commands of an operator, most of which are sent once by one process, are repeated by go-redis.
func (t *Target) Open(timeout time.Duration) (client *Client, closeAll func(), err error) {
	stop := func() {}
	if t.Embedded {
		server := NewEmbedded()
		if err := server.Start(); err != nil {
			return nil, nil, fmt.Errorf("the embedded server does not start: %w", err)
		}
		stop = server.Close
		t.Embedded, t.URL = false, "redis://"+server.Addr()+"/0"
		t.options = &redis.UniversalOptions{Addrs: []string{server.Addr()}}
	}
	const defaultRetries = 3 // of go-redis
	o := *t.options
	o.DialTimeout, o.ReadTimeout = cmp.Or(o.DialTimeout, timeout), cmp.Or(o.ReadTimeout, timeout)
	o.MaxRetries = cmp.Or(o.MaxRetries, defaultRetries)
	client = &Client{redis.NewUniversalClient(allocator.TuneUniversal(&o))}
	return client, func() { _ = client.Redis.Close(); stop() }, nil
}

// Alone returns the target as the only server.
func (t Target) Alone() Servers { return Servers{Targets: []Target{t}} }

// Sentence returns Diagnose in one sentence.
func (t Target) Sentence(err error, timeout time.Duration) string {
	what, remedy := t.Diagnose(err, timeout)
	return what + "; " + remedy
}

// Diagnose returns the reason why a server does not serve, and a remedy.
func (t Target) Diagnose(err error, timeout time.Duration) (what, remedy string) {
	hostname, misnamed := errors.AsType[x509.HostnameError](err)
	certificate, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	operation, broken := errors.AsType[*net.OpError](err)
	hungUp := errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
	ended, closed := errors.AsType[closedError](err)
	reply := ""
	answer, answered := errors.AsType[redis.Error](err)
	if answered {
		reply = strings.TrimSuffix(answer.Error(), ".")
	}
	switch {
	case t.options.MasterName != "" && errors.Is(err, redis.Nil):
		return fmt.Sprintf("there is no Redis %s: the sentinels have no master of this name", t.Addr), "correct the name in --redis"
	case errors.Is(err, admin.ErrIncomplete):
		_, what, _ = strings.Cut(err.Error(), admin.ErrIncomplete.Error()+": ")
		what, remedy, _ = strings.Cut(what, "; ")
		return fmt.Sprintf("Redis at %s cannot be scanned for all counters: %s", t.Addr, what), remedy
	case misnamed:
		what, remedy = fmt.Sprintf("has a certificate for other names (%s)", hostname), "use a name of its certificate in --redis, or add ?server_name=NAME to the URL"
	case untrusted:
		what, remedy = fmt.Sprintf("has a certificate that is not trusted (%s)", certificate.Err), "name its authority with --tls-ca FILE"
	case closed && ended.Reply() != "":
		what, remedy = refusal(ended.Reply())
	case broken && (operation.Op == "remote error" || t.options.TLSConfig != nil && hungUp):
		// Either an alert of the server, or the connection was closed before the alert was read.
		what = fmt.Sprintf("refuses the connection (%s)", operation.Err)
		remedy = "it may require a certificate: --tls-cert FILE and --tls-key FILE"
	case !answered:
		return fmt.Sprintf("no Redis answers at %s: %s", t.Addr, Cause(err, timeout)), t.silence(closed)
	case strings.Contains(err.Error(), "all sentinels specified") && isLogin(err): // of go-redis, if none serves
		return fmt.Sprintf("there is no Redis %s: the sentinels reject the login (%s)", t.Addr, reply),
			"name their user and password, as in --redis redis+sentinel://HOST/NAME?sentinel_username=USER&sentinel_password=PASSWORD"
	case redis.HasErrorPrefix(err, "NOAUTH"), strings.Contains(reply, "unauthenticated"): // the reply to a long command
		what, remedy = "requires a login", "add user and password, as in --redis redis://USER:PASSWORD@HOST"
	case isLogin(err):
		what, remedy = "rejects the login ("+reply+")", "check user and password in --redis"
		if t.options.CredentialsProviderContext != nil {
			remedy = "check the user in --redis, and the password in --password-file"
		}
	case Forbidden(err):
		what, remedy = "denies this user a command ("+reply+")", "grant it, or name another user in --redis"
	case redis.IsLoadingError(err):
		what, remedy = "is still loading its data ("+reply+")", "try again in a moment"
	case redis.IsMasterDownError(err) || redis.HasErrorPrefix(err, "READONLY "): // of the server, or of a proxy in front of it
		what, remedy = "is a replica and accepts no writes ("+reply+")", "name its primary with --redis"
	case redis.HasErrorPrefix(err, "MOVED") && !t.IsCluster():
		what, remedy = "is one node of a cluster, and another has this key ("+reply+")", "name the cluster, as in --redis redis+cluster://HOST"
	case t.options.MasterName != "" && strings.HasPrefix(reply, "ERR unknown command"):
		return fmt.Sprintf("there is no Redis %s: one that answers there is not a sentinel", t.Addr), "name sentinels, or the server itself with redis://HOST"
	case strings.HasSuffix(reply, "cluster support disabled"):
		what, remedy = "is not part of a cluster", "name it as in --redis redis://HOST"
	case strings.HasPrefix(reply, "ERR unknown command"): // with all arguments
		reply, _, _ = strings.Cut(reply, ", with args")
		what, remedy = "does not serve this ("+reply+")", "name a server, or sentinels as in --redis redis+sentinel://HOST/NAME"
	default:
		what, remedy = "does not serve this ("+reply+")", "check the server, or name another with --redis"
	}
	return "Redis at " + t.Addr + " " + what, remedy
}

// closedError is the error of a connection that the server closed before it served anything. Its reply is "" if it sent none.
type closedError interface {
	error
	Reply() string
}

// silence returns the remedy where nothing answers. closed reports that connections are accepted, and closed.
func (t Target) silence(closed bool) string {
	switch {
	case t.options.TLSConfig != nil:
		return "start one, or name it with --redis URL, with redis:// where it does not use TLS"
	case closed:
		return "use rediss:// where it requires TLS; else look at its log"
	}
	return "start one, or name it with --redis URL"
}

// refusal returns what a server that closes each connection does, and a remedy, by its reply.
func refusal(reply string) (what, remedy string) {
	sentence, _, _ := strings.Cut(strings.TrimSuffix(reply, "."), ". ")
	what = "refuses connections (" + sentence + ")"
	switch {
	case strings.Contains(reply, "max number of clients"):
		return what, "raise its maxclients, or close connections (CLIENT LIST names them)"
	case strings.HasPrefix(reply, "DENIED"):
		return what, "give it a password, and name it as in --redis redis://USER:PASSWORD@HOST"
	}
	return what, "look at its log"
}

// Forbidden reports whether the user lacks a permission, also in a script, where the text depends on the version of Redis.
func Forbidden(err error) bool {
	return redis.IsPermissionError(err) || err != nil &&
		(strings.Contains(err.Error(), "ACL failure in script") || strings.Contains(err.Error(), "can't run this command or subcommand"))
}

// isLogin reports whether a server requires a login, or rejects one.
func isLogin(err error) bool {
	return redis.IsAuthError(err) || redis.HasErrorPrefix(err, "AUTH") || redis.HasErrorPrefix(err, "invalid password")
}

// Cause returns the innermost reason, such as the text of the operating system.
func Cause(err error, timeout time.Duration) string {
	if ended, closed := errors.AsType[closedError](err); closed {
		return cmp.Or(ended.Reply(), "it closed the connection before any reply")
	}
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

// Brief returns a short reason why a server does not answer.
func Brief(err error, timeout time.Duration) string {
	if answer := redis.Error(nil); errors.As(err, &answer) {
		return strings.TrimSuffix(answer.Error(), ".")
	}
	if _, closed := errors.AsType[closedError](err); closed {
		return Cause(err, timeout)
	}
	if number, ok := errors.AsType[syscall.Errno](err); ok {
		return number.Error()
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Sprintf("no answer within %s", timeout)
	}
	return Cause(err, timeout)
}

// Replica returns a client of a replica of the target, which is assumed to have the same users.
func (t Target) Replica(addr string) *Client {
	return &Client{redis.NewClient(allocator.Tune(&redis.Options{
		Addr: addr, Username: t.options.Username, Password: t.options.Password, TLSConfig: t.options.TLSConfig,
		CredentialsProviderContext: t.options.CredentialsProviderContext,
	}))}
}

// Answered reports whether err is an error reply, which shows that the server runs.
func Answered(err error) bool {
	answer := redis.Error(nil)
	return errors.As(err, &answer)
}

// Label returns the name of a server or, if it has none, the name of its master at the sentinels, or its address.
func (t Target) Label() string {
	label := cmp.Or(t.Name, t.Addr)
	if t.options != nil && t.Name == "" {
		label = cmp.Or(t.options.MasterName, label)
	}
	return label
}
