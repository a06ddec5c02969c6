package serve

import (
	"cmp"
	"crypto/tls"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/hilo-id/hilo/allocator/gateway"
	"github.com/hilo-id/hilo/allocator/gateway/ravendb"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/prefix"
)

// mostConnections is what makes no sense to ask for.
const mostConnections = 1_000_000

// readServe reads all flags.
func readServe(r *base.Reader) base.Runner {
	r.Own = "serve"
	s := &serve{Session: r.Session(), servers: r.Servers()}
	s.Collections = r.NamedCollections(s.Separator)
	s.MaxConnections = int(r.Number("max-connections", 1, mostConnections))
	s.ravendb = ravendb.Options{
		IgnoreReturns: !r.Switch("accept-returns"),
		Separator:     s.Separator,
		RequireSeeded: s.servers.RequireSeeded,
		Durability:    s.servers.Durability,
		Timeout:       s.Timeout,
		Logger:        s.Log,
	}
	s.gateway = gateway.Options{Separator: s.Separator, Timeout: s.servers.Patience(s.Timeout), Logger: s.Log}
	s.readDatabases(r)
	s.readPublicURL(r)
	s.readTLS(r)
	s.readTokens(r)
	s.readListen(r)
	return s
}

func (s *serve) readDatabases(r *base.Reader) {
	given, source := r.StringSlice("database"), "--database"
	if len(given) == 0 {
		source = r.Variable("database")
		text, _ := r.Env.Lookup(source)
		given = strings.Fields(text)
	}
	s.ravendb.Databases = make(map[string]string)
	seen := make(map[string]bool)
	for _, text := range given {
		name, namespace, found := strings.Cut(text, "=")
		if !found {
			r.Failf("%s is %q: must be NAME=NAMESPACE, such as Shop=Raven", source, text)
			return
		}
		bad := cmp.Or(prefix.ValidateNamespace(name), prefix.ValidateNamespace(namespace))
		r.Fail(exit.Invalid(bad, "see to "+source+" "+strconv.Quote(text)))
		if seen[prefix.Fold(name)] {
			r.Failf("%s names %q twice: letter case does not tell two databases apart", source, name)
		}
		seen[prefix.Fold(name)] = true
		s.ravendb.Databases[name] = namespace
	}
}

func (s *serve) readPublicURL(r *base.Reader) {
	text, source := r.Text("public-url")
	if text == "" {
		return
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		r.Failf("%s is %q: must be such as https://ids.example.org", source, text)
	}
	s.ravendb.PublicURL = strings.TrimSuffix(text, "/")
}

// readTLS reads the files of certificates.
func (s *serve) readTLS(r *base.Reader) {
	pair := r.KeyPair("cert", "key")
	if file, source := r.Text("client-ca"); pair == nil && file != "" {
		r.Failf("%s is for TLS: name a certificate with --cert and its key with --key", source)
	}
	if pair == nil {
		return
	}
	s.TLS = &tls.Config{Certificates: pair, ClientCAs: r.Authorities("client-ca"), MinVersion: tls.VersionTLS12}
	if s.TLS.ClientCAs != nil {
		// Health is asked for without one, and a token will do where there is one too.
		s.TLS.ClientAuth = tls.VerifyClientCertIfGiven
		s.gateway.ClientCertificates = true
	}
}

func (s *serve) readTokens(r *base.Reader) {
	file, source := r.Text("token-file")
	if file == "" {
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		r.Failf("%s is %q: cannot be read", source, file)
	}
	for line := range strings.Lines(string(text)) {
		token := strings.TrimSpace(line)
		if token == "" || strings.HasPrefix(token, "#") {
			continue
		}
		if len(token) < gateway.ShortestToken {
			r.Failf("%s is %q: it holds a token of %d bytes, and each needs %d or more", source, file, len(token), gateway.ShortestToken)
		}
		s.gateway.Tokens = append(s.gateway.Tokens, token)
	}
	if len(s.gateway.Tokens) == 0 {
		r.Failf("%s is %q: holds no token; one a line is wanted", source, file)
	}
}

// readListen reads the address, and demands what it takes to serve others than this machine.
func (s *serve) readListen(r *base.Reader) {
	var source string
	s.Listen, source = r.Address("listen", "HOST:PORT or :PORT, such as 127.0.0.1:8080")
	host, _, _ := net.SplitHostPort(s.Listen)
	address, _ := netip.ParseAddr(host) // of a name none
	if host == "localhost" || address.IsLoopback() || r.Switch("insecure") {
		return
	}
	signedIn := len(s.gateway.Tokens) > 0 || s.gateway.ClientCertificates
	if s.TLS == nil || !signedIn {
		r.Failf("%s is %q, which others can reach: it takes TLS (--cert, --key) and sign-in (--token-file or --client-ca), or --insecure",
			source, s.Listen)
	}
}
