package cli

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
)

// trustByAddress has each server's certificate compared with the address that it is dialed at. go-redis would
// compare those of all nodes, of sentinels and of their master with the first host of the URL.
func trustByAddress(config *tls.Config) {
	if config != nil {
		config.ServerName = ""
	}
}

// mistrust says what is wrong and what to do where client and server cannot agree on TLS; "" where that is not it.
func (t target) mistrust(err error) (what, remedy string) {
	var hostname x509.HostnameError
	var certificate *tls.CertificateVerificationError
	var operation *net.OpError
	switch {
	case errors.As(err, &hostname):
		return fmt.Sprintf("Redis at %s shows a certificate for other names (%s)", t.addr, hostname),
			"name it in --redis as its certificate does"
	case errors.As(err, &certificate):
		return fmt.Sprintf("Redis at %s shows a certificate that is not trusted (%s)", t.addr, certificate.Err),
			"name its authority with --tls-ca FILE"
	case errors.As(err, &operation) && operation.Op == "remote error": // how crypto/tls words an alert of the server's
		return fmt.Sprintf("Redis at %s refuses the connection (%s)", t.addr, operation.Err),
			"it may want a certificate: --tls-cert FILE and --tls-key FILE"
	}
	return "", ""
}
