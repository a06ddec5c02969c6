package serve_test

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
	"net/http"
	"testing"
	"time"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
)

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
}

func newCertificate(t *testing.T, parent *authority) (certPEM, keyPEM string, made *authority) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "hilo"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	signer, signKey := template, key
	if parent != nil {
		signer, signKey = parent.cert, parent.key
	} else {
		template.IsCA, template.KeyUsage = true, x509.KeyUsageCertSign
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer, &key.PublicKey, signKey)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	certPEM = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	keyPEM = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
	return certPEM, keyPEM, &authority{cert: cert, key: key, file: clitest.WriteFile(t, certPEM)}
}

func TestOthersThanThisMachineAreServedOverTLSAndSignIn(t *testing.T) {
	t.Parallel()
	_, _, ca := newCertificate(t, nil)
	_, _, other := newCertificate(t, nil)
	cert, key, _ := newCertificate(t, ca)
	const token = "a-token-of-some-length"
	r := start(t, "--redis", "embedded:", "--listen", "0.0.0.0:0", "--log-level", "error",
		"--cert", clitest.WriteFile(t, cert), "--key", clitest.WriteFile(t, key), "--client-ca", ca.file,
		"--token-file", clitest.WriteFile(t, "# ours\n"+token+"\n"))
	_, port, err := net.SplitHostPort(r.url[len("https://"):])
	if err != nil {
		t.Fatal(err)
	}
	url := "https://127.0.0.1:" + port
	roots := x509.NewCertPool()
	roots.AddCert(ca.cert)
	ask := func(signer *authority, authorization string) (status int, err error) {
		config := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
		if signer != nil {
			cert, key, _ := newCertificate(t, signer)
			pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
			if err != nil {
				t.Fatal(err)
			}
			config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
		}
		transport := &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/ids/orders", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", authorization)
		response, err := (&http.Client{Transport: transport}).Do(request)
		if err != nil {
			return 0, err
		}
		return response.StatusCode, response.Body.Close()
	}
	for _, tt := range []struct {
		name          string
		signer        *authority
		authorization string
		want          int
	}{
		{"nobody", nil, "", 401},
		{"a token", nil, "Bearer " + token, 200},
		{"another token", nil, "Bearer another-token-of-some-length", 401},
		{"a certificate", ca, "", 200},
		{"a certificate of another authority", other, "Bearer " + token, 0},
	} {
		if got, err := ask(tt.signer, tt.authorization); got != tt.want {
			t.Errorf("%s: %d %v, want %d", tt.name, got, err, tt.want)
		}
	}
	if got := clitest.Must(t, "probe", url+"/readyz", "--tls-ca", ca.file); got != "ready\n" {
		t.Errorf("%q", got)
	}
	clitest.MustFail(t, exit.Failed, clitest.Hilo(t, "probe", url+"/readyz", "--tls-ca", other.file), "certificate")
}
