package base

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"

	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/target"
)

// The global flags for TLS and passwords.
const (
	flagTLSCA        = "tls-ca"
	flagTLSCert      = "tls-cert"
	flagTLSKey       = "tls-key"
	flagPasswordFile = "password-file"
)

// Reason returns the text of an error about a file, without the file's name.
func Reason(err error) string {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err
	}
	return err.Error()
}

// ReadSecret reads a file with a password, tokens, or a certificate and its key. Editors may have written a byte order mark.
func ReadSecret(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	return bytes.TrimPrefix(text, []byte(byteOrderMark)), err
}

const byteOrderMark = "\ufeff"

// Access reads the files that the access flags name.
func (r *Reader) Access() target.Access {
	var a target.Access
	var err error
	if file, source := r.Text(flagTLSCA); file != "" {
		a.Authorities, err = ReadAuthorities(file, source)
		r.Fail(err)
	}
	if files := r.KeyPairFiles(flagTLSCert, flagTLSKey); files != nil {
		pair, err := files.Read()
		r.Fail(err)
		a.Certificates = []tls.Certificate{pair}
	}
	if file, source := r.Text(flagPasswordFile); file != "" {
		a.Password = r.password(file, source)
	}
	return a
}

// ReadAuthorities reads a file of certificates to trust. source is the flag or variable with its name, for errors.
func ReadAuthorities(file, source string) (*x509.CertPool, error) {
	text, err := ReadSecret(file)
	pool := x509.NewCertPool()
	switch {
	case err != nil:
		return nil, exit.Usagef("%s is %q: cannot be read (%s)", source, file, Reason(err))
	case !pool.AppendCertsFromPEM(text):
		return nil, exit.Usagef("%s is %q: holds no certificate; must be PEM, -----BEGIN CERTIFICATE-----", source, file)
	}
	return pool, nil
}

// KeyPairFiles has the files of a certificate and its key, and the flags or variables with their names, for errors.
type KeyPairFiles struct{ Cert, Key, certSource, keySource string }

// KeyPairFiles returns the files that two flags name. It returns nil if neither is set.
func (r *Reader) KeyPairFiles(flagCert, flagKey string) *KeyPairFiles {
	var f KeyPairFiles
	f.Cert, f.certSource = r.Text(flagCert)
	f.Key, f.keySource = r.Text(flagKey)
	switch {
	case f.Cert == "" && f.Key == "":
		return nil
	case f.Key == "":
		r.Failf("%s is %q without the key that belongs to it: add %s FILE", f.certSource, f.Cert, Dashed(flagKey))
	case f.Cert == "":
		r.Failf("%s is %q without the certificate that it belongs to: add %s FILE", f.keySource, f.Key, Dashed(flagCert))
	}
	return &f
}

// Read reads the certificate and its key.
func (f *KeyPairFiles) Read() (tls.Certificate, error) {
	cert, certErr := ReadSecret(f.Cert)
	key, keyErr := ReadSecret(f.Key)
	pair, err := tls.X509KeyPair(cert, key)
	if err = cmp.Or(certErr, keyErr, err); err != nil {
		err = exit.Usagef("%s %q and %s %q are not a certificate and its key (%s)", f.certSource, f.Cert, f.keySource, f.Key, Reason(err))
	}
	return pair, err
}

// password reads the password in a file. source is the flag or variable with the file's name, for errors. The result reads it
// again, and returns the last one while the file cannot be read or has none.
func (r *Reader) password(file, source string) func() string {
	read := func() (string, error) {
		text, err := ReadSecret(file)
		return strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r"), err
	}
	password, err := read()
	switch {
	case err != nil: // the name is not shown, because it may be the password itself
		r.Failf("%s names a file that cannot be read (%s)", source, Reason(err))
	case password == "":
		r.Failf("%s names a file without a password in it", source)
	}
	var last atomic.Pointer[string]
	last.Store(&password)
	return func() string {
		if now, err := read(); err == nil && now != "" {
			last.Store(&now)
		}
		return *last.Load()
	}
}
