package cli

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// target is a server as --redis names it: exactly one of the options is set, or embedded.
type target struct {
	name string // "" where none was given
	addr string // what may be shown: hosts and ports, never a user or password
	url  string // as it was given, which may hold a password: never shown

	single   *redis.Options
	failover *redis.FailoverOptions
	cluster  *redis.ClusterOptions
	embedded bool
}

// The errors of this file quote nothing of the URL that could be a password, however badly the URL is put
// together. They continue a sentence that begins with the flag.
var (
	errURL = errors.New("is not a valid URL; in a user or password, characters such as @ : / ? # are written " +
		"with a percent sign (%40 for @)")
	errScheme = errors.New("must be embedded:, or begin with redis://, rediss://, unix:///, redis+sentinel:// " +
		"or redis+cluster://")
	errPort = errors.New("has a port that is no number from 1 to 65535")
)

// parseTarget parses [name=]URL.
func parseTarget(text string) (target, error) {
	name, raw := "", text
	if before, after, ok := strings.Cut(text, "="); ok && regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*$`).MatchString(before) {
		name, raw = before, after
	}
	t, err := parseURL(raw)
	t.name, t.url = name, raw
	return t, err
}

func parseURL(raw string) (target, error) {
	if strings.EqualFold(raw, "embedded:") {
		return target{addr: "the embedded server", embedded: true}, nil
	}
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return target{}, errScheme
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	// A sign of the authority behind its end is half a password far more often than anything else.
	if strings.Contains(rest[end:], "@") || strings.Contains(rest, "#") {
		return target{}, errURL
	}
	authority, tail := rest[:end], rest[end:]
	switch strings.ToLower(scheme) {
	case "redis", "rediss":
		if strings.Contains(authority[strings.LastIndex(authority, "@")+1:], ",") {
			return target{}, errors.New("names several hosts: that takes redis+sentinel:// or redis+cluster://")
		}
		return parseSingle(raw)
	case "unix":
		if authority[strings.LastIndex(authority, "@")+1:] != "" {
			return target{}, errors.New("has no absolute path: a socket has three slashes, unix:///run/redis.sock")
		}
		return parseSingle(raw)
	case "redis+sentinel":
		return parseSentinel("redis", authority, tail)
	case "rediss+sentinel":
		return parseSentinel("rediss", authority, tail)
	case "redis+cluster":
		return parseCluster("redis", authority, tail)
	case "rediss+cluster":
		return parseCluster("rediss", authority, tail)
	}
	return target{}, errScheme
}

func parseSingle(raw string) (target, error) {
	options, err := redis.ParseURL(raw)
	if err != nil {
		return target{}, reworded(err)
	}
	if _, port, err := net.SplitHostPort(options.Addr); options.Network == "tcp" && (err != nil || !isPort(port)) {
		return target{}, errPort
	}
	if err := checkSizes(options.PoolSize, options.MinIdleConns, options.MaxIdleConns, options.MaxActiveConns, options.MaxConcurrentDials); err != nil {
		return target{}, err
	}
	if options.DB < 0 {
		return target{}, errors.New("has a negative database number")
	}
	return target{addr: options.Addr, single: options}, nil
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
	if names, ok := strings.CutPrefix(text, "redis: unexpected option: "); ok {
		if !regexp.MustCompile(`^[a-z_]+(, [a-z_]+)*$`).MatchString(names) {
			return errors.New("has options that hilo does not know")
		}
		return fmt.Errorf("has options that hilo does not know, or not in this kind of URL: %s", names)
	}
	if strings.HasPrefix(text, "redis: invalid URL path") {
		return errors.New("has more than a database number behind the host: it ends as in redis://host:6379/0")
	}
	if strings.HasPrefix(text, "redis: empty unix socket path") {
		return errors.New("names no socket: unix:///run/redis.sock")
	}
	return errURL
}

func refuse(query url.Values, names ...string) error {
	for _, name := range names {
		if query.Has(name) {
			return fmt.Errorf("has an option %s, which hilo does not take in this kind of URL", name)
		}
	}
	return nil
}

// checkSizes refuses the pool sizes that go-redis would panic at, and those that no machine can open.
func checkSizes(sizes ...int) error {
	const most = 10_000
	for _, size := range sizes {
		if size < 0 || size > most {
			return fmt.Errorf("has a number of connections that is not 0 to %d", most)
		}
	}
	return nil
}

func isPort(text string) bool {
	port, err := strconv.Atoi(text)
	return err == nil && port > 0 && port < 1<<16
}
