package run

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/hilo-id/hilo/allocator/gateway/ravendb"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/cli/internal/web"
	"github.com/hilo-id/hilo/prefix"
)

func readServe(r *base.Reader) base.Runner {
	r.Own = "serve"
	s := &serve{Session: r.Session(), servers: r.Servers()}
	s.Collections = r.NamedCollections(s.Separator)
	s.web = web.Read(r, s.Session) // not nil, since --listen has a default
	s.gateway = target.Gateway{
		Namespace: s.Namespace, Separator: s.Separator, Limit: r.Number("limit"), MaxNames: int(r.Number("max-names")),
		SignIn: s.web.SignIn, Loopback: s.web.Loopback, IgnoreReturns: !r.Switch("accept-returns"), Log: s.Log,
	}
	s.readDatabases(r)
	if text, source := r.Text("public-url"); text != "" {
		s.gateway.PublicURL = readBaseURL(r, text, source)
	}
	s.readNodes(r)
	return s
}

// repeated returns the values of a flag that may be repeated, or of its variable, where white space separates them.
func repeated(r *base.Reader, flag string) (given []string, source string) {
	if given = r.StringSlice(flag); len(given) > 0 {
		return given, base.Dashed(flag)
	}
	text, source := r.FromVariable(flag)
	return strings.Fields(text), source
}

func (s *serve) readDatabases(r *base.Reader) {
	given, source := repeated(r, "database")
	s.gateway.Databases = make(map[string]string)
	seen := make(map[string]bool)
	for _, text := range given {
		name, namespace, found := strings.Cut(text, "=")
		if !found {
			r.Failf("%s is %q: must be NAME=NAMESPACE, such as Shop=Raven", source, text)
			return
		}
		bad := cmp.Or(prefix.ValidateNamespace(name), prefix.ValidateNamespace(namespace))
		r.Fail(exit.Invalid(bad, "correct "+source+" "+strconv.Quote(text)))
		if seen[prefix.Fold(name)] {
			r.Failf("%s names %q twice: names that differ only in letter case are one database", source, name)
		}
		seen[prefix.Fold(name)] = true
		s.gateway.Databases[name] = namespace
	}
}

// readBaseURL returns a URL to which clients append paths.
func readBaseURL(r *base.Reader, text, source string) string {
	if !ravendb.IsBase(text) {
		r.Failf("%s is %q: must be such as https://ids.example.org", source, text)
	}
	return strings.TrimSuffix(text, "/")
}

func (s *serve) readNodes(r *base.Reader) {
	given, source := repeated(r, "node")
	seen := make(map[string]bool)
	for _, text := range given {
		tag, address, found := strings.Cut(text, "=")
		if !found {
			r.Failf("%s is %q: must be TAG=URL, such as B=https://ids2.example.org", source, text)
			return
		}
		r.Fail(exit.Invalid(prefix.Server{NodeTag: tag}.Validate(), "correct "+source+" "+strconv.Quote(text)))
		address = readBaseURL(r, address, source)
		if tag == "" || seen[address] {
			r.Failf("%s is %q: each needs a tag and a URL of its own", source, text)
		}
		seen[address] = true
		s.gateway.Nodes = append(s.gateway.Nodes, ravendb.Node{Tag: tag, URL: address})
	}
	if accept, source := r.Text("accept-returns"); len(given) > 0 && accept == "true" && (r.IsSet("accept-returns") || source != base.Dashed("accept-returns")) {
		r.Failf("%s is true beside --node: none of several gateways has the ranges of the others, so no return is accepted", source)
	}
}
