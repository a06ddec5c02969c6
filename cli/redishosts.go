package cli

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"

	"github.com/redis/go-redis/v9"
)

// parseSentinel parses what stands behind redis+sentinel: hosts, /mymaster, /0. The user and password are the
// server's, as in every other URL; the sentinels' own are options, sentinel_username and sentinel_password.
func parseSentinel(scheme, authority, tail string) (target, error) {
	user, addrs, query, path, err := parseHosts(authority, tail, "26379")
	if err != nil {
		return target{}, err
	}
	master, db, _ := strings.Cut(path, "/")
	if !regexp.MustCompile(`^[A-Za-z0-9._-]+$`).MatchString(master) {
		return target{}, errors.New("names no master: redis+sentinel://host:26379,host:26379/mymaster/0")
	}
	if err := refuse(query, "addr", "db", "master_name", "route_by_latency", "route_randomly", "replica_only",
		"use_disconnected_replicas"); err != nil {
		return target{}, err
	}
	if user != nil {
		if query.Has("username") || query.Has("password") {
			return target{}, errors.New("has a user and password twice, before the host and as options: leave one out")
		}
		password, _ := user.Password()
		query.Set("username", user.Username())
		query.Set("password", password)
	}
	rewritten := url.URL{Scheme: scheme, Host: addrs[0], Path: "/" + db}
	if query.Has("sentinel_username") || query.Has("sentinel_password") {
		rewritten.User = url.UserPassword(query.Get("sentinel_username"), query.Get("sentinel_password"))
		query.Del("sentinel_username")
		query.Del("sentinel_password")
	}
	query.Set("master_name", master)
	query["addr"] = addrs[1:]
	rewritten.RawQuery = query.Encode()

	options, err := redis.ParseFailoverURL(rewritten.String())
	if err != nil {
		return target{}, reworded(err)
	}
	if err := checkSizes(options.PoolSize, options.MinIdleConns, options.MaxIdleConns, options.MaxActiveConns, options.MaxConcurrentDials); err != nil {
		return target{}, err
	}
	if options.DB < 0 {
		return target{}, errors.New("has a negative database number")
	}
	trustByAddress(options.TLSConfig)
	return target{addr: fmt.Sprintf("%s by way of the sentinels %s", master, strings.Join(addrs, ", ")), failover: options}, nil
}

func parseCluster(scheme, authority, tail string) (target, error) {
	user, addrs, query, path, err := parseHosts(authority, tail, "6379")
	if err != nil {
		return target{}, err
	}
	if path != "" && path != "0" {
		return target{}, errors.New("names a database: a cluster has only database 0")
	}
	// Counters are read where they are written: a replica may be behind.
	if err := refuse(query, "addr", "read_only", "route_by_latency", "route_randomly"); err != nil {
		return target{}, err
	}
	query["addr"] = addrs[1:]
	rewritten := url.URL{Scheme: scheme, User: user, Host: addrs[0], RawQuery: query.Encode()}

	options, err := redis.ParseClusterURL(rewritten.String())
	if err != nil {
		return target{}, reworded(err)
	}
	if err := checkSizes(options.PoolSize, options.MinIdleConns, options.MaxIdleConns, options.MaxActiveConns, options.MaxConcurrentDials); err != nil {
		return target{}, err
	}
	trustByAddress(options.TLSConfig)
	return target{addr: "the cluster " + strings.Join(addrs, ", "), cluster: options}, nil
}

// parseHosts takes apart [user[:password]@]host[:port],host[:port]…[/path][?query].
func parseHosts(authority, tail, port string) (user *url.Userinfo, addrs []string, query url.Values, path string, err error) {
	if at := strings.LastIndex(authority, "@"); at >= 0 {
		parsed, err := url.Parse("redis://" + authority[:at] + "@host")
		if err != nil {
			return nil, nil, nil, "", errURL
		}
		user, authority = parsed.User, authority[at+1:]
	}
	for host := range strings.SplitSeq(authority, ",") {
		parsed, err := url.Parse("redis://" + host)
		if err != nil {
			return nil, nil, nil, "", errURL
		}
		addr := net.JoinHostPort(parsed.Hostname(), port)
		if parsed.Port() != "" {
			addr = net.JoinHostPort(parsed.Hostname(), parsed.Port())
		}
		switch {
		case parsed.Hostname() == "":
			return nil, nil, nil, "", errors.New("has an empty address: write host:port,host:port")
		case parsed.Port() != "" && !isPort(parsed.Port()):
			return nil, nil, nil, "", errPort
		}
		addrs = append(addrs, addr)
	}
	path, rawQuery, _ := strings.Cut(tail, "?")
	if query, err = url.ParseQuery(rawQuery); err != nil {
		return nil, nil, nil, "", errURL
	}
	return user, addrs, query, strings.Trim(path, "/"), nil
}
