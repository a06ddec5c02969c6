// Package target is how a server is reached: the URLs that name one, TLS and passwords, clients of every kind, several
// masters together; and, where one cannot be reached, the sentence that says why and what to do. It may import exit and the
// library.
package target

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Target is a server as --redis names it.
type Target struct { //nolint:recvcheck // opened once, and a value from then on
	Name     string // "" where none was given
	Addr     string // what may be shown: hosts and ports, never a user or password
	URL      string // as it was given, which may hold a password: never shown
	Embedded bool

	options *redis.UniversalOptions // one server, sentinels or a cluster; those of embedded: are empty
}

// IsCluster tells whether the target is many servers, of which any may answer.
func (t Target) IsCluster() bool { return t.options.IsClusterMode }

// The errors of this file quote nothing of the URL that could be a password, however badly the URL is put
// together. They continue a sentence that begins with the flag.
var (
	errURL = errors.New("is not a valid URL; in a user or password, characters such as @ : / ? # are written " +
		"with a percent sign (%40 for @)")
	errScheme = errors.New("must be embedded:, or begin with redis://, rediss://, unix:///, redis+sentinel:// " +
		"or redis+cluster://")
	errPort = errors.New("has a port that is no number from 1 to 65535")
)

// Parse parses [name=]URL.
func Parse(text string) (Target, error) {
	name, raw := "", text
	if before, after, ok := strings.Cut(text, "="); ok && regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*$`).MatchString(before) {
		name, raw = before, after
	}
	t, err := ParseURL(raw)
	if err != nil {
		return Target{}, err
	}
	t.Name, t.URL = name, raw
	return t, nil
}

// ParseURL is Parse for a URL that has no name before it.
func ParseURL(raw string) (Target, error) {
	if strings.EqualFold(raw, "embedded:") {
		return Target{Addr: "the embedded server", Embedded: true, options: &redis.UniversalOptions{}}, nil
	}
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return Target{}, errScheme
	}
	authority, tail := rest, ""
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority, tail = rest[:end], rest[end:]
	}
	// A sign of the authority behind its end is half a password far more often than anything else.
	if strings.Contains(tail, "@") || strings.Contains(rest, "#") {
		return Target{}, errURL
	}
	host := authority[strings.LastIndex(authority, "@")+1:]
	switch scheme = strings.ToLower(scheme); scheme {
	case "redis", "rediss":
		if strings.Contains(host, ",") {
			return Target{}, errors.New("names several hosts: that takes redis+sentinel:// or redis+cluster://")
		}
		return parseSingle(raw)
	case "unix":
		if host != "" {
			return Target{}, errors.New("has no absolute path: a socket has three slashes, unix:///run/redis.sock")
		}
		return parseSingle(raw)
	case "redis+sentinel", "rediss+sentinel":
		return parseSentinel(strings.TrimSuffix(scheme, "+sentinel"), authority, tail)
	case "redis+cluster", "rediss+cluster":
		return parseCluster(strings.TrimSuffix(scheme, "+cluster"), authority, tail)
	}
	return Target{}, errScheme
}

func parseSingle(raw string) (Target, error) {
	o, err := redis.ParseURL(raw)
	if err != nil {
		return Target{}, reworded(err)
	}
	if _, port, err := net.SplitHostPort(o.Addr); o.Network == "tcp" && (err != nil || !IsPort(port)) {
		return Target{}, errPort
	}
	t := Target{Addr: o.Addr, options: universal(o, o.Addr)}
	return t, checkNumbers(t.options)
}

// universal are the options that go-redis has for a client of any kind, made of those that it reads from a URL, which
// differ from kind to kind but have the same names.
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

// reworded is an error of go-redis or net/url without what it quotes of the URL.
func reworded(err error) error {
	text := err.Error()
	if found := regexp.MustCompile(`^redis: invalid ([a-z_]+) (number|duration|boolean)`).FindStringSubmatch(text); found != nil {
		if found[1] == "database" {
			return errors.New("has a database that is no number: it ends as in redis://host:6379/0")
		}
		return fmt.Errorf("has an option %s that is no %s", found[1], found[2])
	}
	names, unknown := strings.CutPrefix(text, "redis: unexpected option: ")
	switch {
	case unknown && !regexp.MustCompile(`^[a-z_]+(, [a-z_]+)*$`).MatchString(names):
		return errors.New("has options that hilo does not know")
	case unknown:
		return fmt.Errorf("has options that hilo does not know, or not in this kind of URL: %s", names)
	case strings.HasPrefix(text, "redis: invalid URL path"):
		return errors.New("has more than a database number behind the host: it ends as in redis://host:6379/0")
	case strings.HasPrefix(text, "redis: empty unix socket path"):
		return errors.New("names no socket: unix:///run/redis.sock")
	}
	return errURL
}

// checkNumbers refuses the pool sizes that go-redis would panic at, and those that no machine can open.
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

// IsPort tells whether text is a port that can be reached.
func IsPort(text string) bool {
	port, err := strconv.Atoi(text)
	return err == nil && port > 0 && port < 1<<16
}

// Access is what the access flags name, read.
type Access struct {
	Authorities  *x509.CertPool    // nil: those of the system
	Certificates []tls.Certificate // shown to a server that asks
	Password     string            // "": none
}

// NamesUser reports whether the URL names a user of the server's.
func (t Target) NamesUser() bool { return t.options.Username != "" }

// Give gives a target all that it lacks, and tells whether it asks for TLS. The password goes to a target whose URL has
// none, and to its sentinels where the URL names a user of theirs and no password.
func (a Access) Give(t *Target) (usesTLS bool) {
	o := t.options
	o.Password = cmp.Or(o.Password, a.Password)
	if o.SentinelUsername != "" {
		o.SentinelPassword = cmp.Or(o.SentinelPassword, a.Password)
	}
	if o.TLSConfig != nil {
		o.TLSConfig.RootCAs, o.TLSConfig.Certificates = a.Authorities, a.Certificates
	}
	return o.TLSConfig != nil
}
