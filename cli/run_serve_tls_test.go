package cli

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
)

// requestTLS sends a POST, with a certificate of signer unless it is nil. It returns the status and the serial number of the
// server's certificate.
func requestTLS(t *testing.T, url string, trusted []*authority, signer *authority, authorization string) (status int, serial string, err error) {
	t.Helper()
	roots := x509.NewCertPool()
	for _, a := range trusted {
		roots.AddCert(a.signer)
	}
	config := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	if signer != nil {
		pair := signer.issue("worker")
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	transport := &http.Transport{TLSClientConfig: config, DisableKeepAlives: true, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", authorization)
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return 0, "", err
	}
	if response.ProtoMajor != 2 {
		t.Errorf("the protocol is %s, want HTTP/2", response.Proto)
	}
	return response.StatusCode, response.TLS.PeerCertificates[0].SerialNumber.String(), response.Body.Close()
}

func TestServeReadsCertificatesAndTokensAgainWhenTheyChange(t *testing.T) {
	t.Parallel()
	ca, newCA := newAuthority(t), newAuthority(t)
	made := ca.issue("127.0.0.1")
	cert, key := ca.texts(made)
	const oldToken, newToken = "the-old-token-of-all", "the-new-token-of-all"
	files := map[string]string{}
	for flag, text := range map[string]string{"--cert": cert, "--key": key, "--client-ca": ca.text, "--token-file": oldToken} {
		files[flag] = clitest.WriteFile(t, "\ufeff"+text) // as some editors do
	}
	replace := func(flag, text string) {
		if err := os.WriteFile(files[flag], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"--redis", "embedded:"}
	for flag, file := range files {
		args = append(args, flag, file)
	}
	r := startServe(t, args...)
	send := func(signer *authority, token string) (int, string) {
		status, serial, _ := requestTLS(t, r.url+"/v1/ids/orders", []*authority{ca, newCA}, signer, "Bearer "+token)
		return status, serial
	}
	expect := func(name string, signer *authority, token string, want int) {
		t.Helper()
		if got, _ := send(signer, token); got != want {
			t.Errorf("%s: got %d, want %d", name, got, want)
		}
	}
	expect("the old token", nil, oldToken, 200)
	expect("the new token before it is in the file", nil, newToken, 401)
	expect("a certificate of the old authority", ca, "", 200)
	expect("a certificate of the new authority before it is in the file", newCA, "", 0)

	replace("--token-file", "too short")
	clitest.AwaitTrue(t, "a warning about the tokens", func() bool {
		expect("the old token while the file is broken", nil, oldToken, 200)
		return strings.Contains(r.stderr.String(), "files changed and cannot be used")
	})
	replace("--token-file", newToken)
	clitest.AwaitTrue(t, "the new token", func() bool { status, _ := send(nil, newToken); return status == 200 })
	expect("the old token after it was removed", nil, oldToken, 401)

	newMade := newCA.issue("127.0.0.1")
	newCert, newKey := newCA.texts(newMade)
	replace("--cert", newCert) // does not match the key yet
	if _, serial := send(nil, newToken); serial != made.Leaf.SerialNumber.String() {
		t.Errorf("the certificate is %s, want the old one", serial)
	}
	replace("--key", newKey)
	replace("--client-ca", newCA.text)
	clitest.AwaitTrue(t, "the new certificate", func() bool {
		_, serial := send(nil, newToken)
		return serial == newMade.Leaf.SerialNumber.String()
	})
	clitest.AwaitTrue(t, "the new authority", func() bool { status, _ := send(newCA, ""); return status == 200 })
	expect("a certificate of the old authority after it was removed", ca, "", 0)
}

func TestServeOnAllInterfacesNeedsTLSAndATokenOrCertificate(t *testing.T) {
	t.Parallel()
	ca, other := newAuthority(t), newAuthority(t)
	cert, key := ca.files(ca.issue("127.0.0.1"))
	const token = "a-token-of-some-length"
	r := startServe(t, "--redis", "embedded:", "--listen", "0.0.0.0:0", "--log-level", "error",
		"--cert", cert, "--key", key, "--client-ca", ca.file,
		"--token-file", clitest.WriteFile(t, "# ours\n"+token+"\n"))
	_, port, err := net.SplitHostPort(r.url[len("https://"):])
	if err != nil {
		t.Fatal(err)
	}
	url := "https://127.0.0.1:" + port
	send := func(signer *authority, authorization string) (status int, err error) {
		status, _, err = requestTLS(t, url+"/v1/ids/orders", []*authority{ca}, signer, authorization)
		return status, err
	}
	for _, tt := range []struct {
		name          string
		signer        *authority
		authorization string
		want          int
	}{
		{"neither token nor certificate", nil, "", 401},
		{"a token", nil, "Bearer " + token, 200},
		{"another token", nil, "Bearer another-token-of-some-length", 401},
		{"a certificate", ca, "", 200},
		{"a certificate of another authority", other, "Bearer " + token, 0},
	} {
		if got, err := send(tt.signer, tt.authorization); got != tt.want {
			t.Errorf("%s: %d %v, want %d", tt.name, got, err, tt.want)
		}
	}
	if got := clitest.Must(t, "probe", url+"/readyz", "--tls-ca", ca.file); got != "ready\n" {
		t.Errorf("%q", got)
	}
	clitest.MustFail(t, exit.Failed, clitest.Hilo(t, "probe", url+"/readyz", "--tls-ca", other.file), "certificate")
}
