// Package redisurl parses the URLs that name a server to hilo, in programs as in the flag --redis:
//
//	redis://USER:PASSWORD@HOST:6379/0          one server
//	rediss://HOST:6379/0                       with TLS; ?server_name=NAME is the name of its certificate
//	HOST:PORT                                  redis://HOST:PORT/0
//	unix:///run/redis.sock?db=0                a socket
//	redis+sentinel://HOST,HOST:26379/NAME/0    the primary NAME of sentinels
//	redis+cluster://HOST,HOST:6379             a cluster
//
// The last two have forms with rediss, too. Further options are those of redis.ParseURL. Those of Sentinel also have
// sentinel_username and sentinel_password, because the login before the hosts is for the primary.
//
// Programs use allocator.Connect. This package is for those that change the options before they make a client.
package redisurl

import (
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

// Error is the error of Parse. Neither part of it has a part of the URL that could be a password, however malformed the URL is.
type Error struct {
	// URL has the scheme and the hosts, as far as they can be told from a password.
	URL string
	// Err names the part that is wrong and its rule, without the URL before it.
	Err error
}

func (e *Error) Error() string { return "URL " + e.URL + " " + e.Err.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// ErrScheme is the Err of a URL whose scheme is missing or unknown.
var ErrScheme = errors.New("must be HOST:PORT, or begin with redis://, rediss://, unix:///, redis+sentinel:// or redis+cluster://")

var (
	errEmpty = errors.New("is empty")
	errURL   = errors.New("is not a valid URL; in a user or password, characters such as @ : / ? # are written " +
		"with a percent sign (%40 for @)")
	errPort = errors.New("has a port that is not a number from 1 to 65535")
)

// hostPort matches an address alone, which means redis://host:port/0.
var hostPort = regexp.MustCompile(`^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):[0-9]+$`)

// Parse returns the options of a client for a URL, without those that it leaves open. It does no I/O. An error is an *Error.
func Parse(text string) (*redis.UniversalOptions, error) {
	o, err := parse(text)
	if err != nil {
		return nil, &Error{URL: Redact(text), Err: err}
	}
	return o, nil
}

// Address returns the hosts and ports of options that Parse returned, for output.
func Address(o *redis.UniversalOptions) string {
	addrs := strings.Join(o.Addrs, ", ")
	switch {
	case o.MasterName != "":
		return o.MasterName + " by way of the sentinels " + addrs
	case o.IsClusterMode:
		return "the cluster " + addrs
	}
	return addrs
}

// shownHosts matches hosts with ports that can be shown. A port that is no number may be a password without its @.
var shownHosts = regexp.MustCompile(`^[][A-Za-z0-9:.,_-]*$`)

// Redact returns the scheme and the hosts of a URL, for output. Whatever may belong to a password is "…", also where the URL is
// malformed.
func Redact(text string) string {
	const hidden = "…"
	scheme, rest, ok := strings.Cut(text, "://")
	switch {
	case text == "":
		return `""`
	case hostPort.MatchString(text):
		return text
	case !ok || !regexp.MustCompile(`^[A-Za-z+]{1,20}$`).MatchString(scheme):
		return hidden
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	hosts := rest[strings.LastIndex(rest[:end], "@")+1 : end]
	if strings.Contains(rest[end:], "@") || !shownHosts.MatchString(hosts) || !ports(hosts) {
		return scheme + "://" + hidden
	}
	if end < len(rest) {
		hosts += "/" + hidden
	}
	if strings.Contains(rest[:end], "@") {
		hosts = hidden + "@" + hosts
	}
	return scheme + "://" + hosts
}

// ports reports whether what is behind each host is nothing or a number.
func ports(hosts string) bool {
	for host := range strings.SplitSeq(hosts, ",") {
		if _, port, found := strings.Cut(host[strings.LastIndex(host, "]")+1:], ":"); found {
			if _, err := strconv.ParseUint(port, 10, 64); err != nil {
				return false
			}
		}
	}
	return true
}

func parse(raw string) (*redis.UniversalOptions, error) {
	if raw == "" {
		return nil, errEmpty
	}
	if hostPort.MatchString(raw) {
		raw = "redis://" + raw + "/0"
	}
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return nil, ErrScheme
	}
	authority, tail := rest, ""
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority, tail = rest[:end], rest[end:]
	}
	// These characters are most likely part of a password that is not escaped.
	if strings.Contains(tail, "@") || strings.Contains(rest, "#") {
		return nil, errURL
	}
	path, query, _ := strings.Cut(tail, "?")
	options, _ := url.ParseQuery(query) // go-redis reports the error
	serverName, named := options.Get("server_name"), options.Has("server_name")
	if named { // go-redis does not have this option
		options.Del("server_name")
		tail = path + "?" + options.Encode()
	}
	o, err := parseScheme(strings.ToLower(scheme), authority, tail)
	switch {
	case err != nil:
		return nil, err
	case !named:
		return o, nil
	case o.TLSConfig == nil:
		return nil, errors.New("has an option server_name, which is for TLS: rediss://")
	case serverName == "":
		return nil, errors.New("has an option server_name without a name")
	}
	o.TLSConfig.ServerName = serverName
	return o, nil
}

func parseScheme(scheme, authority, tail string) (*redis.UniversalOptions, error) {
	host := authority[strings.LastIndex(authority, "@")+1:]
	switch scheme {
	case "redis", "rediss":
		if strings.Contains(host, ",") {
			return nil, errors.New("names several hosts: that takes redis+sentinel:// or redis+cluster://")
		}
	case "unix":
		if host != "" {
			return nil, errors.New("has no absolute path: a socket has three slashes, unix:///run/redis.sock")
		}
	case "redis+sentinel", "rediss+sentinel":
		return parseSentinel(strings.TrimSuffix(scheme, "+sentinel"), authority, tail)
	case "redis+cluster", "rediss+cluster":
		return parseCluster(strings.TrimSuffix(scheme, "+cluster"), authority, tail)
	default:
		return nil, ErrScheme
	}
	o, err := redis.ParseURL(scheme + "://" + authority + tail)
	if err != nil {
		return nil, reworded(err)
	}
	if _, port, err := net.SplitHostPort(o.Addr); o.Network == "tcp" && (err != nil || !IsPort(port)) {
		return nil, errPort
	}
	return checked(universal(o, o.Addr))
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

// checked refuses pool sizes at which go-redis panics or that no machine can open.
func checked(o *redis.UniversalOptions) (*redis.UniversalOptions, error) {
	const most = 10_000
	sizes := []int{o.PoolSize, o.MinIdleConns, o.MaxIdleConns, o.MaxActiveConns, o.MaxConcurrentDials}
	if slices.Min(sizes) < 0 || slices.Max(sizes) > most {
		return nil, fmt.Errorf("has a number of connections that is not 0 to %d", most)
	}
	if o.DB < 0 {
		return nil, errors.New("has a negative database number")
	}
	return o, nil
}

// IsPort reports whether text is a port from 1 to 65535.
func IsPort(text string) bool {
	port, err := strconv.Atoi(text)
	return err == nil && port > 0 && port < 1<<16
}
