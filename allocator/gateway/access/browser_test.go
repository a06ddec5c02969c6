package access_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/hilo-id/hilo/allocator/gateway/access"
)

const (
	token = "a-token-of-a-browser"
	other = "another-token-of-one"
)

func tokens(t testing.TB, all ...string) func() access.Tokens {
	t.Helper()
	made, err := access.NewTokens(all...)
	if err != nil {
		t.Fatal(err)
	}
	return made.Static()
}

// send sends a request to a page behind ForBrowsers.
func send(t testing.TB, signIn access.SignIn, loopback bool, target string, change ...func(*http.Request)) *http.Response {
	t.Helper()
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "page") })
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	for _, c := range change {
		c(r)
	}
	recorder := httptest.NewRecorder()
	access.ForBrowsers(signIn, loopback, page).ServeHTTP(recorder, r)
	return recorder.Result() //nolint:bodyclose // it holds nothing
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

func basic(user, password string) func(*http.Request) {
	return func(r *http.Request) { r.SetBasicAuth(user, password) }
}

func certificate(r *http.Request) {
	r.TLS = &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{{}}}}
}

func TestForBrowsersSignsIn(t *testing.T) {
	t.Parallel()
	both := access.SignIn{Tokens: tokens(t, other, token), Certificates: true}
	for _, tt := range []struct {
		name   string
		signIn access.SignIn
		change func(*http.Request)
		want   int
	}{
		{"without sign-in", access.SignIn{}, header("X", ""), 200},
		{"nothing sent", both, header("X", ""), 401},
		{"a bearer token", both, header("Authorization", "Bearer "+token), 200},
		{"a password", both, basic("", token), 200},
		{"a password with a user", both, basic("anyone", token), 200},
		{"a token as the user", both, basic(token, ""), 401},
		{"another password", both, basic("", token+"x"), 401},
		{"a certificate", both, certificate, 200},
		{"a certificate that is not accepted", access.SignIn{Tokens: tokens(t, token)}, certificate, 401},
		{"a password without tokens", access.SignIn{Certificates: true}, basic("", token), 401},
		{"a cookie that is none", both, header("Cookie", "__Host-hilo=!"), 401},
		{"a cookie of another length", both, header("Cookie", "__Host-hilo=AAAA"), 401},
		{"the token as a cookie", both, header("Cookie", "__Host-hilo="+token), 401},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := send(t, tt.signIn, true, "http://localhost/", tt.change)
			challenge := got.Header.Get("WWW-Authenticate")
			if got.StatusCode != tt.want || strings.HasPrefix(challenge, "Basic ") != (tt.want == 401 && tt.signIn.Tokens != nil) {
				t.Errorf("got %d, challenge %q, want %d, and a Basic challenge with 401 where there are tokens", got.StatusCode, challenge, tt.want)
			}
		})
	}
}

func TestForBrowsersExchangesATokenForACookie(t *testing.T) {
	t.Parallel()
	signIn := access.SignIn{Tokens: tokens(t, other, token)}
	got := send(t, signIn, true, "http://localhost//evil.example/?sort=max&token="+token)
	body, _ := io.ReadAll(got.Body)
	cookies := got.Cookies()
	if got.StatusCode != http.StatusOK || len(cookies) != 1 || strings.Contains(string(body), token) || !strings.Contains(string(body), `"0; url=/evil.example/?sort=max"`) {
		t.Fatalf("got %d %v %s, want 200, one cookie, and a page that leads to /evil.example/?sort=max without the token", got.StatusCode, got.Header, body)
	}
	cookie := cookies[0]
	if !cookie.HttpOnly || !cookie.Secure || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/" || cookie.Domain != "" ||
		strings.Contains(cookie.Value, token) {
		t.Errorf("got cookie %v, want HttpOnly, Secure, SameSite=Strict, Path=/, no Domain, no token in it", cookie)
	}
	with := header("Cookie", cookie.Name+"="+cookie.Value)
	if got := send(t, signIn, true, "http://localhost/", with); got.StatusCode != http.StatusOK {
		t.Errorf("with the cookie: got %d, want 200", got.StatusCode)
	}
	if got := send(t, access.SignIn{Tokens: tokens(t, token)}, true, "http://localhost/", with); got.StatusCode != http.StatusOK {
		t.Errorf("with the cookie after a restart: got %d, want 200", got.StatusCode)
	}
	if got := send(t, access.SignIn{Tokens: tokens(t, other)}, true, "http://localhost/", with); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("with the cookie of a token that is not valid any more: got %d, want 401", got.StatusCode)
	}
	if got := send(t, signIn, true, "http://localhost/?token=x"+token); got.StatusCode != http.StatusUnauthorized || len(got.Cookies()) != 0 {
		t.Errorf("another token: got %d %v, want 401 and no cookie", got.StatusCode, got.Cookies())
	}
}

func TestForBrowsersChecksTheHostOnLoopback(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]int{
		"127.0.0.1": 200, "127.0.0.1:8080": 200, "localhost": 200, "LOCALHOST:80": 200, "[::1]": 200, "[::1]:8080": 200,
		"127.0.0.2": 200, "127.255.255.254:8080": 200, "[::ffff:127.0.0.1]:8080": 200,
		"[::1": 421, "128.0.0.1": 421, "0.0.0.0:8080": 421, "[::]:8080": 421,
		"": 421, "evil.example": 421, "evil.example:8080": 421, "127.0.0.1.evil.example": 421, "localhost.evil.example": 421, "[::2]:1": 421,
	} {
		got := send(t, access.SignIn{}, true, "http://x/", func(r *http.Request) { r.Host = host })
		if got.StatusCode != want {
			t.Errorf("Host %q: got %d, want %d", host, got.StatusCode, want)
		}
		if got := send(t, access.SignIn{}, false, "http://x/", func(r *http.Request) { r.Host = host }); got.StatusCode != http.StatusOK {
			t.Errorf("Host %q not on loopback: got %d, want 200", host, got.StatusCode)
		}
	}
}

func TestNewTokensRefusesShortOnes(t *testing.T) {
	t.Parallel()
	if _, err := access.NewTokens(token, "0123456789abcde"); err == nil || err.Error() != "token 2 has 15 bytes: must have at least 16" {
		t.Errorf("got %v, want token 2 has 15 bytes: must have at least 16", err)
	}
	if none, err := access.NewTokens(); err != nil || none.Static() != nil {
		t.Errorf("no tokens: got Static() nil: %t, %v, want true, <nil>", none.Static() == nil, err)
	}
}

// Messages of net/http hold what clients sent.
func TestNewServerLogsNothingUnescaped(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zapcore.InfoLevel)
	access.NewServer(nil, zap.New(core, zap.AddCaller())).ErrorLog.Print("http: \x1b[2J\r\n\"x\"\u202e")
	if got := logs.All(); len(got) != 1 || got[0].Message != `http: \x1b[2J\r\n\"x\"\u202e` || !strings.HasSuffix(got[0].Caller.File, "browser_test.go") {
		t.Errorf("got %+v, want one message, escaped, with its caller", got)
	}
}
