package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/hilo-id/hilo/cli/internal/clitest"
)

// authority signs certificates for one test.
type authority struct {
	t      *testing.T
	signer *x509.Certificate
	key    *ecdsa.PrivateKey
	text   string // its own certificate, in PEM
	file   string // with the text
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	}
	pair := a.sign(template)
	a.signer, a.key = pair.Leaf, pair.PrivateKey.(*ecdsa.PrivateKey)
	a.text = pemText("CERTIFICATE", pair.Certificate[0])
	a.file = clitest.WriteFile(t, a.text)
	return a
}

// issue returns a certificate for hosts, which are addresses or names.
func (a *authority) issue(hosts ...string) tls.Certificate {
	a.t.Helper()
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "leaf"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return a.sign(template)
}

// sign signs a certificate with the key of the authority. Before the authority has one, the certificate signs itself.
func (a *authority) sign(template *x509.Certificate) tls.Certificate {
	a.t.Helper()
	template.SerialNumber = big.NewInt(time.Now().UnixNano()) // so that tests can distinguish certificates
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	signer, signerKey := a.signer, a.key
	if signer == nil {
		signer, signerKey = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer, &key.PublicKey, signerKey)
	if err != nil {
		a.t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// files writes a certificate and its key to files for the flags.
func (a *authority) files(pair tls.Certificate) (cert, key string) {
	a.t.Helper()
	certText, keyText := a.texts(pair)
	return clitest.WriteFile(a.t, certText), clitest.WriteFile(a.t, keyText)
}

// texts returns a certificate and its key in PEM.
func (a *authority) texts(pair tls.Certificate) (cert, key string) {
	a.t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		a.t.Fatal(err)
	}
	return pemText("CERTIFICATE", pair.Certificate[0]), pemText("PRIVATE KEY", der)
}

func pemText(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}
