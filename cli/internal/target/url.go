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
	"net"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Target is a server that --redis names.
type Target struct { //nolint:recvcheck // opened once, and a value from then on
	Name     string // "" if it has none
	Addr     string // hosts and ports, for output
	URL      string // as the user wrote it; never shown, because it may have a password
	Embedded bool

	// options is a *redis.UniversalOptions of a server, of sentinels or of a cluster, and empty for embedded:. With its type,
	// which reaches *redis.Client, each package that uses a Target would compile hundreds of methods of go-redis again.
	options any
}

// IsCluster reports whether the target is a cluster.
//
//go:noinline
func (t Target) IsCluster() bool { return optionsOf(t).IsClusterMode }

// HasSentinels reports whether sentinels name the server, so that another one may take its place.
//
//go:noinline
func (t Target) HasSentinels() bool { return optionsOf(t).MasterName != "" }

// The errors of this file never quote a part of a URL that could be a password, however malformed the URL is. They continue
// a sentence that begins with the flag.
var (
	errEmpty = errors.New("is empty: give it a URL, or remove it")
	errURL   = errors.New("is not a valid URL; in a user or password, characters such as @ : / ? # are written " +
		"with a percent sign (%40 for @)")
	errScheme = errors.New("must be HOST:PORT or embedded:, or begin with redis://, rediss://, unix:///, redis+sentinel:// " +
		"or redis+cluster://")
	errName = errors.New("has a name before = that is not a letter, followed by letters, digits and _ . -")
	errPort = errors.New("has a port that is not a number from 1 to 65535")
)

// severalServers matches a NAME= or a scheme behind a comma.
var severalServers = regexp.MustCompile(`(?i),([A-Za-z][A-Za-z0-9_.-]*=|[a-z+]+://)`)

// hostPort matches an address alone, which means redis://host:port/0.
var hostPort = regexp.MustCompile(`^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):[0-9]+$`)

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
	if raw == "" {
		return Target{}, errEmpty
	}
	if strings.EqualFold(raw, "embedded:") {
		return Target{Addr: "the embedded server", Embedded: true, options: &redis.UniversalOptions{}}, nil
	}
	if hostPort.MatchString(raw) {
		raw = "redis://" + raw + "/0"
	}
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return Target{}, errScheme
	}
	authority, tail := rest, ""
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority, tail = rest[:end], rest[end:]
	}
	// These characters are most likely part of a password that is not escaped.
	if strings.Contains(tail, "@") || strings.Contains(rest, "#") {
		return Target{}, errURL
	}
	path, query, _ := strings.Cut(tail, "?")
	options, _ := url.ParseQuery(query) // go-redis reports the error
	serverName, named := options.Get("server_name"), options.Has("server_name")
	if named { // go-redis does not have this option
		options.Del("server_name")
		tail = path + "?" + options.Encode()
	}
	t, err := parseScheme(strings.ToLower(scheme), authority, tail)
	switch {
	case err != nil || !named:
		return t, err
	case optionsOf(t).TLSConfig == nil:
		return Target{}, errors.New("has an option server_name, which is for TLS: rediss://")
	case serverName == "":
		return Target{}, errors.New("has an option server_name without a name")
	}
	optionsOf(t).TLSConfig.ServerName = serverName
	return t, nil
}

func parseScheme(scheme, authority, tail string) (Target, error) {
	host := authority[strings.LastIndex(authority, "@")+1:]
	switch scheme {
	case "redis", "rediss":
		if strings.Contains(host, ",") {
			return Target{}, errors.New("names several hosts: that takes redis+sentinel:// or redis+cluster://")
		}
	case "unix":
		if host != "" {
			return Target{}, errors.New("has no absolute path: a socket has three slashes, unix:///run/redis.sock")
		}
	case "redis+sentinel", "rediss+sentinel":
		return parseSentinel(strings.TrimSuffix(scheme, "+sentinel"), authority, tail)
	case "redis+cluster", "rediss+cluster":
		return parseCluster(strings.TrimSuffix(scheme, "+cluster"), authority, tail)
	default:
		return Target{}, errScheme
	}
	o, err := redis.ParseURL(scheme + "://" + authority + tail)
	if err != nil {
		return Target{}, reworded(err)
	}
	if _, port, err := net.SplitHostPort(o.Addr); o.Network == "tcp" && (err != nil || !IsPort(port)) {
		return Target{}, errPort
	}
	t := Target{Addr: o.Addr, options: universal(o, o.Addr)}
	return t, checkNumbers(optionsOf(t))
}

// universal returns the options of go-redis for a client of any kind, made of those that it parsed. Their types differ by
// the kind of URL, but their fields have the same names.
func universal(parsed any, addrs ...string) *redis.UniversalOptions {
	o := &redis.UniversalOptions{}
	to := reflect.ValueOf(o).Elem()
	for field, value := range reflect.ValueOf(parsed).Elem().Fields() {
		if same := to.FieldByName(field.Name); same.CanSet() {
			same.Set(value)
		}
	}
	o.Addrs = addrs
	_, o.IsClusterMode = parsed.(*redis.ClusterOptions)
	return o
}

// reworded returns an error of go-redis or net/url without its quotes of the URL.
func reworded(err error) error {
	text := err.Error()
	if found := regexp.MustCompile(`^redis: invalid ([a-z_]+) (number|duration|boolean)`).FindStringSubmatch(text); found != nil {
		if found[1] == "database" {
			return errors.New("has a database that is not a number: write it as in redis://host:6379/0")
		}
		return fmt.Errorf("has an option %s that is not a %s", found[1], found[2])
	}
	names, unknown := strings.CutPrefix(text, "redis: unexpected option: ")
	switch {
	case unknown && !regexp.MustCompile(`^[a-z_]+(, [a-z_]+)*$`).MatchString(names):
		return errors.New("has unknown options")
	case unknown:
		return fmt.Errorf("has unknown options, or ones of another kind of URL: %s", names)
	case strings.HasPrefix(text, "redis: invalid URL path"):
		return errors.New("has more than a database number after the host: write it as in redis://host:6379/0")
	case strings.HasPrefix(text, "redis: empty unix socket path"):
		return errors.New("names no socket: unix:///run/redis.sock")
	}
	return errURL
}

// checkNumbers refuses pool sizes at which go-redis panics or that no machine can open.
func checkNumbers(o *redis.UniversalOptions) error {
	const most = 10_000
	sizes := []int{o.PoolSize, o.MinIdleConns, o.MaxIdleConns, o.MaxActiveConns, o.MaxConcurrentDials}
	if slices.Min(sizes) < 0 || slices.Max(sizes) > most {
		return fmt.Errorf("has a number of connections that is not 0 to %d", most)
	}
	if o.DB < 0 {
		return errors.New("has a negative database number")
	}
	return nil
}

// IsPort reports whether text is a port from 1 to 65535.
func IsPort(text string) bool {
	port, err := strconv.Atoi(text)
	return err == nil && port > 0 && port < 1<<16
}

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
	o := optionsOf(*t)
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

// optionsOf returns the options of a target.
//
//go:noinline
func optionsOf(t Target) *redis.UniversalOptions { return t.options.(*redis.UniversalOptions) }
