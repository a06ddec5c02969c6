package base

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/hilo-id/hilo/cli/internal/target"
)

// The global flags that say how a server lets hilo in, beyond what its URL says.
const (
	flagTLSCA        = "tls-ca"
	flagTLSCert      = "tls-cert"
	flagTLSKey       = "tls-key"
	flagPasswordFile = "password-file"
)

// reason is what an error about a file says, without the file.
func reason(err error) string {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err
	}
	return err.Error()
}

// Access reads the files that the access flags name.
func (r *Reader) Access() target.Access {
	a := target.Access{Authorities: r.Authorities(flagTLSCA), Certificates: r.KeyPair(flagTLSCert, flagTLSKey)}
	if file, source := r.Text(flagPasswordFile); file != "" {
		a.Password = r.Password(file, source)
	}
	return a
}

// Authorities reads the file that a flag names, of certificates to trust. It is nil where there is none.
func (r *Reader) Authorities(flag string) *x509.CertPool {
	file, source := r.Text(flag)
	if file == "" {
		return nil
	}
	text, err := os.ReadFile(file)
	pool := x509.NewCertPool()
	switch {
	case err != nil:
		r.Failf("%s is %q: cannot be read (%s)", source, file, reason(err))
	case !pool.AppendCertsFromPEM(text):
		r.Failf("%s is %q: holds no certificate; must be PEM, -----BEGIN CERTIFICATE-----", source, file)
	}
	return pool
}

// KeyPair reads the files that two flags name, of a certificate and its key. It is nil where there are none.
func (r *Reader) KeyPair(flagCert, flagKey string) []tls.Certificate {
	cert, certSource := r.Text(flagCert)
	key, keySource := r.Text(flagKey)
	switch {
	case cert == "" && key == "":
		return nil
	case key == "":
		r.Failf("%s is %q without the key that belongs to it: add %s FILE", certSource, cert, Dashed(flagKey))
	case cert == "":
		r.Failf("%s is %q without the certificate that it belongs to: add %s FILE", keySource, key, Dashed(flagCert))
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		r.Failf("%s %q and %s %q are no certificate and its key (%s)", certSource, cert, keySource, key, reason(err))
	}
	return []tls.Certificate{pair}
}

// Password reads a file with a password in it; source is the flag or variable that names the file.
func (r *Reader) Password(file, source string) string {
	text, err := os.ReadFile(file)
	password := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	switch {
	case err != nil: // the name is not shown: it may be the password, put in the wrong place
		r.Failf("%s names a file that cannot be read (%s)", source, reason(err))
	case password == "":
		r.Failf("%s names a file without a password in it", source)
	}
	return password
}

// Settings are the shared flags, given or from the environment, as environment variables: with them another process of
// hilo reads the same. Servers are not among them.
func (r *Reader) Settings() map[string]string {
	all := make(map[string]string)
	for _, flag := range sharedFlags() {
		if name := flag.Names()[0]; name != FlagRedis {
			all[Variable(name)], _ = r.Text(name)
		}
	}
	return all
}

// sharedFlags are those whose environment variables bear no command's name.
func sharedFlags() []cli.Flag { return append(GlobalFlags(), ServerFlags()...) }
