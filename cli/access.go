package cli

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/urfave/cli/v2"
)

// The global flags that say how a server lets hilo in, beyond what its URL says.
const (
	flagTLSCA        = "tls-ca"
	flagTLSCert      = "tls-cert"
	flagTLSKey       = "tls-key"
	flagPasswordFile = "password-file"
)

func accessFlags() []cli.Flag {
	return []cli.Flag{
		newAccess(flagTLSCA, "PEM `FILE` of the authorities that rediss:// trusts"),
		newAccess(flagTLSCert, "PEM `FILE` of the certificate to show to rediss://"),
		newAccess(flagTLSKey, "PEM `FILE` of that certificate's key"),
		newAccess(flagPasswordFile, "`FILE` of the password for URLs without one"),
	}
}

func newAccess(name, usage string) cli.Flag {
	return &cli.StringFlag{Name: name, Usage: usage + "; $" + variable(name)}
}

// access is what the access flags name, read.
type access struct {
	authorities  *x509.CertPool    // nil: those of the system
	certificates []tls.Certificate // shown to a server that asks
	password     string            // "": none
}

// readAccess reads the files that the access flags name.
func readAccess(c *cli.Context, env Env) (access, error) {
	var a access
	ca, source := setting(c, env, flagTLSCA)
	if ca != "" {
		text, err := os.ReadFile(ca)
		if err != nil {
			return a, usagef("%s is %q: cannot be read (%s)", source, ca, reason(err))
		}
		a.authorities = x509.NewCertPool()
		if !a.authorities.AppendCertsFromPEM(text) {
			return a, usagef("%s is %q: holds no certificate; must be PEM, -----BEGIN CERTIFICATE-----", source, ca)
		}
	}

	cert, certSource := setting(c, env, flagTLSCert)
	key, keySource := setting(c, env, flagTLSKey)
	switch {
	case cert != "" && key == "":
		return a, usagef("%s is %q without the key that belongs to it: add %s FILE", certSource, cert, dashed(flagTLSKey))
	case cert == "" && key != "":
		return a, usagef("%s is %q without the certificate that it belongs to: add %s FILE", keySource, key, dashed(flagTLSCert))
	case cert != "":
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return a, usagef("%s %q and %s %q are no certificate and its key (%s)", certSource, cert, keySource, key, reason(err))
		}
		a.certificates = []tls.Certificate{pair}
	}

	file, source := setting(c, env, flagPasswordFile)
	if file != "" {
		password, err := readPassword(file, source)
		if err != nil {
			return a, err
		}
		a.password = password
	}
	return a, nil
}

func readPassword(file, source string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil { // the name is not shown: it may be the password, put in the wrong place
		return "", usagef("%s names a file that cannot be read (%s)", source, reason(err))
	}
	password := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	if password == "" {
		return "", usagef("%s names a file without a password in it", source)
	}
	return password, nil
}

// reason is what an error about a file says, without the file.
func reason(err error) string {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err.Error()
	}
	return err.Error()
}

// givePassword gives the password to a target whose URL has none, and to its sentinels where the URL names a user
// of theirs and no password.
func (a access) givePassword(t *target) {
	if a.password == "" {
		return
	}
	give := func(password *string) {
		if *password == "" {
			*password = a.password
		}
	}
	switch {
	case t.single != nil:
		give(&t.single.Password)
	case t.cluster != nil:
		give(&t.cluster.Password)
	case t.failover != nil:
		give(&t.failover.Password)
		if t.failover.SentinelUsername != "" {
			give(&t.failover.SentinelPassword)
		}
	}
}

// namesUser reports whether the URL names a user of the server's.
func (t target) namesUser() bool {
	switch {
	case t.single != nil:
		return t.single.Username != ""
	case t.cluster != nil:
		return t.cluster.Username != ""
	case t.failover != nil:
		return t.failover.Username != ""
	}
	return false
}

// giveTLS gives authorities and certificates to a target whose URL asks for TLS, and tells whether it does.
func (a access) giveTLS(t *target) bool {
	config := (*tls.Config)(nil)
	switch {
	case t.single != nil:
		config = t.single.TLSConfig
	case t.cluster != nil:
		config = t.cluster.TLSConfig
	case t.failover != nil:
		config = t.failover.TLSConfig
	}
	if config == nil {
		return false
	}
	config.RootCAs, config.Certificates = a.authorities, a.certificates
	return true
}

// give gives a target all that it lacks, and tells whether it asks for TLS.
func (a access) give(t *target) (usesTLS bool) {
	a.givePassword(t)
	return a.giveTLS(t)
}

// giveAll is give for several targets; one that asks for TLS is enough.
func (a access) giveAll(targets []target) (usesTLS bool) {
	for i := range targets {
		usesTLS = a.give(&targets[i]) || usesTLS
	}
	return usesTLS
}
