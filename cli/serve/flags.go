package serve

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/hilo-id/hilo/allocator/gateway"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/prefix"
)

// mostConnections is what makes no sense to ask for.
const mostConnections = 1_000_000

// readServe reads all flags.
func readServe(r *base.Reader) *serve {
	s := &serve{Session: r.Session(), servers: r.Servers()}
	s.Collections = r.NamedCollections(s.Separator)
	s.MaxConnections = int(r.Number(flagMaxConnections, 1, mostConnections))
	s.IgnoreReturns = !r.Switch(flagAcceptReturns)
	s.readDatabases(r)
	s.readPublicURL(r)
	s.readTLS(r)
	s.readTokens(r)
	s.readListen(r)
	return s
}

func (s *serve) readDatabases(r *base.Reader) {
	given, source := r.StringSlice(flagDatabase), base.Dashed(flagDatabase)
	if len(given) == 0 {
		source = r.Variable(flagDatabase)
		text, _ := r.Env.Lookup(source)
		given = strings.Fields(text)
	}
	s.Databases = make(map[string]string)
	seen := make(map[string]bool)
	for _, text := range given {
		name, namespace, found := strings.Cut(text, "=")
		if !found {
			r.Failf("%s is %q: must be NAME=NAMESPACE, such as Shop=Raven", source, text)
			return
		}
		for _, part := range []string{name, namespace} {
			if err := prefix.ValidateNamespace(part); err != nil {
				r.Fail(exit.Invalid(err, "see to "+source+" "+strconv.Quote(text)))
			}
		}
		if seen[prefix.Fold(name)] {
			r.Failf("%s names %q twice: letter case does not tell two databases apart", source, name)
		}
		seen[prefix.Fold(name)] = true
		s.Databases[name] = namespace
	}
}

func (s *serve) readPublicURL(r *base.Reader) {
	text, source := r.Text(flagPublicURL)
	if text == "" {
		return
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		r.Failf("%s is %q: must be such as https://ids.example.org", source, text)
	}
	s.PublicURL = strings.TrimSuffix(text, "/")
}

// readTLS reads the files of certificates.
func (s *serve) readTLS(r *base.Reader) {
	cert, certSource := r.Text(flagCert)
	key, keySource := r.Text(flagKey)
	authorities, source := r.Text(flagClientCA)
	switch {
	case cert == "" && key == "" && authorities == "":
		return
	case cert == "" && authorities != "":
		r.Failf("%s is for TLS: name a certificate with %s and its key with %s", source, base.Dashed(flagCert), base.Dashed(flagKey))
		return
	case key == "":
		r.Failf("%s stands alone: name its key with %s", certSource, base.Dashed(flagKey))
		return
	case cert == "":
		r.Failf("%s stands alone: name its certificate with %s", keySource, base.Dashed(flagCert))
		return
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		r.Failf("%s %q and %s %q cannot be used: %s", certSource, cert, keySource, key, err)
		return
	}
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if authorities == "" {
		return
	}
	text, err := os.ReadFile(authorities)
	pool := x509.NewCertPool()
	if err != nil || !pool.AppendCertsFromPEM(text) {
		r.Failf("%s is %q: cannot be read, or holds no certificate", source, authorities)
		return
	}
	// Health is asked for without one, and a token will do where there is one too.
	s.TLS.ClientCAs, s.TLS.ClientAuth = pool, tls.VerifyClientCertIfGiven
}

func (s *serve) readTokens(r *base.Reader) {
	file, source := r.Text(flagTokenFile)
	if file == "" {
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		r.Failf("%s is %q: cannot be read", source, file)
		return
	}
	for line := range strings.Lines(string(text)) {
		token := strings.TrimSpace(line)
		if token == "" || strings.HasPrefix(token, "#") {
			continue
		}
		if len(token) < gateway.ShortestToken {
			r.Failf("%s is %q: it holds a token of %d bytes, and each needs %d or more", source, file, len(token), gateway.ShortestToken)
			return
		}
		s.Tokens = append(s.Tokens, token)
	}
	if len(s.Tokens) == 0 {
		r.Failf("%s is %q: holds no token; one a line is wanted", source, file)
	}
}

// readListen reads the address, and demands what it takes to serve others than this machine.
func (s *serve) readListen(r *base.Reader) {
	var source string
	s.Listen, source = r.Text(flagListen)
	host, port, err := net.SplitHostPort(s.Listen)
	if err != nil || port != "0" && !target.IsPort(port) {
		r.Failf("%s is %q: must be HOST:PORT or :PORT, such as 127.0.0.1:8080", source, s.Listen)
		return
	}
	if isLoopback(host) || r.Switch(flagInsecure) {
		return
	}
	signedIn := len(s.Tokens) > 0 || s.TLS != nil && s.TLS.ClientCAs != nil
	if s.TLS == nil || !signedIn {
		r.Failf("%s is %q, which others can reach: it takes TLS (--%s, --%s) and sign-in (--%s or --%s), or --%s",
			source, s.Listen, flagCert, flagKey, flagTokenFile, flagClientCA, flagInsecure)
	}
}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}
