package redisurl

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"

	"github.com/redis/go-redis/v9"
)

// parseHosts parses [user[:password]@]host[:port],host[:port]…[/path][?query]. It returns the URL of the first host, which
// go-redis can parse, and the addresses of all. It refuses options that have no meaning with several hosts, or for hilo.
func parseHosts(scheme, authority, tail, port string, refused ...string) (first *url.URL, addrs []string, err error) {
	behindUser := strings.LastIndex(authority, "@") + 1
	for host := range strings.SplitSeq(authority[behindUser:], ",") {
		parsed, err := url.Parse(scheme + "://" + authority[:behindUser] + host + tail)
		switch {
		case err != nil:
			return nil, nil, errURL
		case parsed.Hostname() == "":
			return nil, nil, errors.New("has an empty address: write host:port,host:port")
		case parsed.Port() != "" && !IsPort(parsed.Port()):
			return nil, nil, errPort
		}
		first = cmp.Or(first, parsed)
		addrs = append(addrs, net.JoinHostPort(parsed.Hostname(), cmp.Or(parsed.Port(), port)))
	}
	query, err := url.ParseQuery(first.RawQuery)
	if err != nil {
		return nil, nil, errURL
	}
	for _, name := range append(refused, "addr", "route_by_latency", "route_randomly") {
		if query.Has(name) {
			return nil, nil, fmt.Errorf("has an option %s, which hilo does not support in this kind of URL", name)
		}
	}
	return first, addrs, nil
}

// parseSentinel parses a redis+sentinel URL: hosts, /mymaster, /0. User and password are those of the server, as in every
// other URL. Those of the sentinels are the options sentinel_username and sentinel_password.
func parseSentinel(scheme, authority, tail string) (*redis.UniversalOptions, error) {
	u, addrs, err := parseHosts(scheme, authority, tail, "26379", "db", "master_name", "replica_only", "use_disconnected_replicas")
	if err != nil {
		return nil, err
	}
	master, db, _ := strings.Cut(strings.Trim(u.EscapedPath(), "/"), "/")
	if !regexp.MustCompile(`^[A-Za-z0-9._-]+$`).MatchString(master) {
		return nil, errors.New("names no master: redis+sentinel://host:26379,host:26379/mymaster/0")
	}
	query := u.Query()
	if u.User != nil {
		if query.Has("username") || query.Has("password") {
			return nil, errors.New("has a user and password twice, before the host and as options: leave one out")
		}
		password, _ := u.User.Password()
		query.Set("username", u.User.Username())
		query.Set("password", password)
	}
	u.User = url.UserPassword(query.Get("sentinel_username"), query.Get("sentinel_password"))
	query.Del("sentinel_username")
	query.Del("sentinel_password")
	query.Set("master_name", master)
	u.Path, u.RawQuery = "/"+db, query.Encode()
	return parseAs(redis.ParseFailoverURL, u, addrs)
}

// parseCluster parses a redis+cluster URL. It refuses reads from replicas, because counters are read where they are written.
func parseCluster(scheme, authority, tail string) (*redis.UniversalOptions, error) {
	u, addrs, err := parseHosts(scheme, authority, tail, "6379", "read_only")
	if err != nil {
		return nil, err
	}
	if path := strings.Trim(u.EscapedPath(), "/"); path != "" && path != "0" {
		return nil, errors.New("names a database: a cluster has only database 0")
	}
	return parseAs(redis.ParseClusterURL, u, addrs)
}

// parseAs parses the URL of the first host with a function of go-redis, and returns the options for all hosts. It clears the
// server name for TLS, so that each certificate is compared with the address of its own server. go-redis would compare those
// of all nodes, of sentinels and of their master with the first host of the URL.
func parseAs[Options any](parse func(string) (*Options, error), first *url.URL, addrs []string) (*redis.UniversalOptions, error) {
	parsed, err := parse(first.String())
	if err != nil {
		return nil, reworded(err)
	}
	o := universal(parsed, addrs...)
	if o.TLSConfig != nil {
		o.TLSConfig.ServerName = ""
	}
	return checked(o)
}
