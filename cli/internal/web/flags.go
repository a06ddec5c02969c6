package web

import (
	"crypto/tls"
	"net"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"go.uber.org/zap"

	"github.com/hilo-id/hilo/allocator/gateway/access"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
)

// The flags of a command with an HTTP server.
const (
	FlagListen         = "listen"
	flagMaxConnections = "max-connections"
	flagCert           = "cert"
	flagKey            = "key"
	flagClientCA       = "client-ca"
	flagTokenFile      = "token-file"
	flagInsecure       = "insecure"
	flagIdleTimeout    = "idle-timeout"
	flagDrain          = "drain"
)

// maxConnections is the maximum of --max-connections.
const maxConnections = 1_000_000

// Flags returns the flags that Read reads, and the command's own. listen is the flag --listen without its name.
func Flags(listen *cli.GenericFlag, own ...cli.Flag) []cli.Flag {
	listen.Name = FlagListen
	return append([]cli.Flag{
		listen,
		&cli.GenericFlag{Name: flagMaxConnections, Usage: "accept at most `N` connections at once", Value: base.Number("4096", 1, maxConnections)},
		&cli.GenericFlag{Name: flagIdleTimeout, Usage: "close a connection that is idle for `D`", Value: base.Duration("2m", 0)},
		&cli.GenericFlag{Name: flagDrain, Usage: "after SIGTERM serve on for `D`", Value: base.Delay("0s")},
		&cli.GenericFlag{Name: flagCert, Usage: "PEM `FILE` of the server certificate", Value: base.Text(""), TakesFile: true},
		&cli.GenericFlag{Name: flagKey, Usage: "PEM `FILE` of its key", Value: base.Text(""), TakesFile: true},
		&cli.GenericFlag{Name: flagClientCA, Usage: "PEM `FILE` of authorities of client certificates", Value: base.Text(""), TakesFile: true},
		&cli.GenericFlag{Name: flagTokenFile, Usage: "`FILE` of the tokens for sign-in, one per line", Value: base.Text(""), TakesFile: true},
		&cli.BoolFlag{Name: flagInsecure, Usage: "allow all addresses without TLS and sign-in"},
	}, own...)
}

// Read reads the flags of Flags. Without --listen it returns nil, and the other flags are refused.
func Read(r *base.Reader, s *base.Session) *Server {
	address, source := r.Text(FlagListen)
	if address == "" {
		for _, flag := range Flags(&cli.GenericFlag{}) {
			if name := flag.Names()[0]; r.IsSet(name) {
				r.Failf("%s is for an HTTP server: add --%s ADDR", base.Dashed(name), FlagListen)
			}
		}
		return nil
	}
	w := &Server{Session: s, address: address, maxConnections: int(r.Number(flagMaxConnections))}
	w.idleTimeout, w.drain = r.Period(flagIdleTimeout), r.Period(flagDrain)
	w.readTLS(r)
	w.readTokens(r)
	host, _, _ := net.SplitHostPort(address)
	w.Loopback = access.IsLoopback(host)
	if !w.Loopback && !r.Switch(flagInsecure) && (w.tls == nil || !w.SignIn.Required()) {
		r.Failf("%s is %q, which others can reach: it takes TLS (--cert, --key) and sign-in (--token-file or --client-ca), or --insecure",
			source, address)
	}
	return w
}

func (w *Server) readTLS(r *base.Reader) {
	pair := r.KeyPairFiles(flagCert, flagKey)
	authorities, source := r.Text(flagClientCA)
	if pair == nil {
		if authorities != "" {
			r.Failf("%s is for TLS: name a certificate with --cert and its key with --key", source)
		}
		return
	}
	files := []string{pair.Cert, pair.Key}
	if authorities != "" {
		files = append(files, authorities)
	}
	w.SignIn.Certificates = authorities != ""
	w.tls = watch(r, w.Log, files, func() (*tls.Config, error) {
		certificate, err := pair.Read()
		config := &tls.Config{
			Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		}
		if err == nil && authorities != "" {
			// Requests with a token, and those that need no sign-in, are served without a certificate.
			config.ClientAuth = tls.VerifyClientCertIfGiven
			config.ClientCAs, err = base.ReadAuthorities(authorities, source)
		}
		return config, err
	})
}

func (w *Server) readTokens(r *base.Reader) {
	file, source := r.Text(flagTokenFile)
	if file == "" {
		return
	}
	tokens := watch(r, w.Log, []string{file}, func() (t access.Tokens, err error) {
		text, err := base.ReadSecret(file)
		if err != nil {
			return t, exit.Usagef("%s names a file that cannot be read (%s)", source, base.Reason(err)) // the name may be a token, given by mistake
		}
		var all []string
		for line := range strings.Lines(string(text)) {
			if token := strings.TrimSpace(line); token != "" && !strings.HasPrefix(token, "#") {
				all = append(all, token)
			}
		}
		if len(all) == 0 {
			return t, exit.Usagef("%s is %q: holds no token; write one a line", source, file)
		}
		if t, err = access.NewTokens(all...); err != nil {
			err = exit.Usagef("%s is %q: %v", source, file, err)
		}
		return t, err
	})
	w.SignIn.Tokens = tokens.get
}

// watch returns the value that read returns, reloaded when one of the files changes. If the first read fails, the flags are
// refused.
func watch[T any](r *base.Reader, log *zap.Logger, files []string, read func() (T, error)) *reloaded[T] {
	value := &reloaded[T]{files: files, read: read, log: log, now: time.Now}
	if r.Err == nil {
		r.Fail(value.load())
	}
	return value
}
