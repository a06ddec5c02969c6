// Package target is how a server is reached: the URLs that name one, TLS and passwords, clients of every kind, several
// masters together; and, where one cannot be reached, the sentence with the reason and what to do. It may import exit and the
// library.
package target

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator/redisurl"
)

// Target is a server that --redis names.
type Target struct { //nolint:recvcheck // opened once, and a value from then on
	Name     string // "" if it has none
	Addr     string // hosts and ports, for output
	URL      string // as the user wrote it; never shown, because it may have a password
	Embedded bool
	options  *redis.UniversalOptions // empty for embedded:
}

// IsCluster reports whether the target is a cluster.
func (t Target) IsCluster() bool { return t.options.IsClusterMode }

// HasSentinels reports whether sentinels name the server, so that another one may take its place.
func (t Target) HasSentinels() bool { return t.options.MasterName != "" }

// The errors of Parse continue a sentence that begins with the flag, and never quote a part of a URL that could be a password.
var (
	errEmpty  = errors.New("is empty: give it a URL, or remove it")
	errScheme = errors.New("must be HOST:PORT or embedded:, or begin with redis://, rediss://, unix:///, redis+sentinel:// " +
		"or redis+cluster://")
	errName = errors.New("has a name before = that is not a letter, followed by letters, digits and _ . -")
)

// severalServers matches a NAME= or a scheme behind a comma.
var severalServers = regexp.MustCompile(`(?i),([A-Za-z][A-Za-z0-9_.-]*=|[a-z+]+://)`)

// Parse parses [name=]URL.
func Parse(text string) (Target, error) {
	name, raw := "", text
	switch before, after, ok := strings.Cut(text, "="); {
	case !ok || strings.ContainsAny(before, ":/@"): // the = is in the URL itself
	case !regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*$`).MatchString(before):
		return Target{}, errName
	default:
		name, raw = before, after
	}
	t, err := parseURL(raw)
	if err != nil && severalServers.MatchString(raw) {
		err = fmt.Errorf("%w; separate servers by white space in HILO_REDIS_URL, or repeat --redis", err)
	}
	if err != nil && name != "" {
		err = fmt.Errorf("of %s %w", name, err)
	}
	if err != nil {
		return Target{}, err
	}
	t.Name, t.URL = name, raw
	return t, nil
}

// parseURL parses a URL without a name.
func parseURL(raw string) (Target, error) {
	if strings.EqualFold(raw, "embedded:") {
		return Target{Addr: "the embedded server", Embedded: true, options: &redis.UniversalOptions{}}, nil
	}
	o, err := redisurl.Parse(raw)
	switch {
	case err == nil:
		return Target{Addr: redisurl.Address(o), options: o}, nil
	case raw == "":
		return Target{}, errEmpty
	case errors.Is(err, redisurl.ErrScheme):
		return Target{}, errScheme
	}
	return Target{}, errors.Unwrap(err) // the flag names the URL
}

// IsPort reports whether text is a port from 1 to 65535.
func IsPort(text string) bool { return redisurl.IsPort(text) }

// Access has the content of the files that the flags for TLS and passwords name.
type Access struct {
	Authorities  *x509.CertPool    // nil means those of the system
	Certificates []tls.Certificate // for servers that request one
	Password     func() string     // as it is when a connection is opened; nil means none
}

// Give adds to a target what it lacks, and reports whether it uses TLS. The password is for a target whose URL has none, and
// for its sentinels if the URL names a user of theirs without a password. It is read again for each connection, except for
// those to sentinels, for which go-redis has no such option.
func (a Access) Give(t *Target) (usesTLS bool) {
	o := t.options
	if user := o.Username; a.Password != nil && o.Password == "" {
		o.CredentialsProviderContext = func(context.Context) (string, string, error) { return user, a.Password(), nil }
	}
	if a.Password != nil && o.SentinelUsername != "" {
		o.SentinelPassword = cmp.Or(o.SentinelPassword, a.Password())
	}
	if o.TLSConfig != nil {
		o.TLSConfig.RootCAs, o.TLSConfig.Certificates = a.Authorities, a.Certificates
	}
	return o.TLSConfig != nil
}
