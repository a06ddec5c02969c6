package target

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

// hosts is [user[:password]@]host[:port],host[:port]…[/path][?query], taken apart.
type hosts struct {
	user  *url.Userinfo
	addrs []string
	path  string
	query url.Values
}

// parseHosts refuses the options that make no sense with several hosts, or with what hilo does.
func parseHosts(authority, tail, port string, refused ...string) (h hosts, err error) {
	if at := strings.LastIndex(authority, "@"); at >= 0 {
		parsed, err := url.Parse("redis://" + authority[:at] + "@host")
		if err != nil {
			return h, errURL
		}
		h.user, authority = parsed.User, authority[at+1:]
	}
	for host := range strings.SplitSeq(authority, ",") {
		parsed, err := url.Parse("redis://" + host)
		switch {
		case err != nil:
			return h, errURL
		case parsed.Hostname() == "":
			return h, errors.New("has an empty address: write host:port,host:port")
		case parsed.Port() != "" && !IsPort(parsed.Port()):
			return h, errPort
		}
		h.addrs = append(h.addrs, net.JoinHostPort(parsed.Hostname(), cmp.Or(parsed.Port(), port)))
	}
	path, query, _ := strings.Cut(tail, "?")
	if h.query, err = url.ParseQuery(query); err != nil {
		return h, errURL
	}
	for _, name := range append(refused, "addr", "route_by_latency", "route_randomly") {
		if h.query.Has(name) {
			return h, fmt.Errorf("has an option %s, which hilo does not take in this kind of URL", name)
		}
	}
	h.path = strings.Trim(path, "/")
	return h, nil
}

// parseSentinel parses what stands behind redis+sentinel: hosts, /mymaster, /0. The user and password are the
// server's, as in every other URL; the sentinels' own are options, sentinel_username and sentinel_password.
func parseSentinel(scheme, authority, tail string) (Target, error) {
	h, err := parseHosts(authority, tail, "26379", "db", "master_name", "replica_only", "use_disconnected_replicas")
	if err != nil {
		return Target{}, err
	}
	master, db, _ := strings.Cut(h.path, "/")
	if !regexp.MustCompile(`^[A-Za-z0-9._-]+$`).MatchString(master) {
		return Target{}, errors.New("names no master: redis+sentinel://host:26379,host:26379/mymaster/0")
	}
	if h.user != nil {
		if h.query.Has("username") || h.query.Has("password") {
			return Target{}, errors.New("has a user and password twice, before the host and as options: leave one out")
		}
		password, _ := h.user.Password()
		h.query.Set("username", h.user.Username())
		h.query.Set("password", password)
	}
	sentinels := url.UserPassword(h.query.Get("sentinel_username"), h.query.Get("sentinel_password"))
	h.query.Del("sentinel_username")
	h.query.Del("sentinel_password")
	h.query.Set("master_name", master)
	return parseAs(redis.ParseFailoverURL, h, url.URL{Scheme: scheme, User: sentinels, Path: "/" + db}, master+" by way of the sentinels ")
}

// parseCluster refuses replicas: counters are read where they are written.
func parseCluster(scheme, authority, tail string) (Target, error) {
	h, err := parseHosts(authority, tail, "6379", "read_only")
	if err != nil {
		return Target{}, err
	}
	if h.path != "" && h.path != "0" {
		return Target{}, errors.New("names a database: a cluster has only database 0")
	}
	return parseAs(redis.ParseClusterURL, h, url.URL{Scheme: scheme, User: h.user}, "the cluster ")
}

// parseAs has go-redis parse a URL that it knows, of the first host, for what the hosts lead to. Each server's certificate
// is compared with the address that it is dialed at: go-redis would compare those of all nodes, of sentinels and of their
// master with the first host of the URL.
func parseAs[Options any](parse func(string) (*Options, error), h hosts, known url.URL, what string) (Target, error) {
	known.Host, known.RawQuery = h.addrs[0], h.query.Encode()
	parsed, err := parse(known.String())
	if err != nil {
		return Target{}, reworded(err)
	}
	o := universal(parsed, h.addrs...)
	if o.TLSConfig != nil {
		o.TLSConfig.ServerName = ""
	}
	return Target{Addr: what + strings.Join(h.addrs, ", "), options: o}, checkNumbers(o)
}
