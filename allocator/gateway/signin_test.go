package gateway_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/gateway"
	"github.com/hilo-id/hilo/scripts/redistest"
)

const (
	oldToken = "the-old-token-of-all"
	newToken = "the-new-token-of-all"
)

func bearing(authorization string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", authorization) }
}

// certified makes r a request over TLS with a client certificate that the listener verified.
func certified(r *http.Request) {
	r.TLS = &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{{}}}}
}

// unverified makes r a request over TLS without a client certificate.
func unverified(r *http.Request) {
	r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{{}}}
}

func TestSignInIsRequired(t *testing.T) {
	t.Parallel()
	s := redistest.StartMini(t)
	const (
		ids    = "/v1/ids/orders"
		ranges = "/databases/Shop/hilo/next?tag=users"
	)
	for _, way := range []struct {
		name         string
		tokens       []string
		certificates bool
		lets, leaves []func(*http.Request)
	}{
		{"by no way, which lets everybody in", nil, false, []func(*http.Request){bearing("")}, nil},
		{
			"by tokens", []string{oldToken, newToken}, false,
			[]func(*http.Request){bearing("Bearer " + oldToken), bearing("bearer  " + newToken)},
			[]func(*http.Request){bearing(""), bearing("Bearer"), bearing("Bearer x" + newToken), bearing("Bearer " + newToken + "x"), bearing("Basic " + newToken), bearing(newToken), certified},
		},
		{
			"by certificates", nil, true,
			[]func(*http.Request){certified},
			[]func(*http.Request){bearing(""), bearing("Bearer " + newToken), unverified},
		},
		{
			"by both", []string{newToken}, true,
			[]func(*http.Request){certified, bearing("Bearer " + newToken)},
			[]func(*http.Request){bearing("Bearer " + oldToken), unverified},
		},
	} {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			d := open(t, s, func(_ *allocator.Options, o *gateway.Options) {
				o.Tokens, o.ClientCertificates = way.tokens, way.certificates
			})
			for i, sign := range way.lets {
				if a := d.send("POST", ids, sign); a.status != 200 {
					t.Errorf("%d: got %+v, want 200", i, a)
				}
				if a := d.send("GET", ranges, sign); a.status != 201 {
					t.Errorf("%d: got %+v, want 201", i, a)
				}
			}
			for i, sign := range way.leaves {
				a := d.send("POST", ids, sign)
				wantProblem(t, a, 401, "about:blank")
				if a.header.Get("WWW-Authenticate") != "Bearer" {
					t.Errorf("%d: got header %v, want WWW-Authenticate Bearer", i, a.header)
				}
				for _, target := range []string{"/metrics", "/v1/collections", "/nothing"} {
					wantProblem(t, d.send("GET", target, sign), 401, "about:blank")
				}
				if a := d.send("GET", ranges, sign); a.status != 403 {
					t.Errorf("%d: got %+v, want 403", i, a)
				}
				for _, target := range []string{"/healthz", "/readyz", "/v1/openapi.json"} {
					if a := d.send("GET", target, sign); a.status != 200 {
						t.Errorf("%d: %s: got %+v, want 200", i, target, a)
					}
				}
			}
		})
	}
}

func TestNewRefusesInvalidOptions(t *testing.T) {
	t.Parallel()
	s := redistest.StartMini(t)
	d := open(t, s)
	for _, opts := range []gateway.Options{
		{Separator: "//"},
		{Timeout: -1},
		{Tokens: []string{"short"}},
		{Masters: []gateway.Master{{Client: d.client}, {Client: d.client}}},
		{Masters: []gateway.Master{{}}},
		{Masters: []gateway.Master{{Client: d.client, Namespace: "{"}}},
	} {
		if _, err := gateway.New(d.ids, opts); !errors.Is(err, allocator.ErrInvalidOptions) {
			t.Errorf("%+v: got %v, want ErrInvalidOptions", opts, err)
		}
	}
	if _, err := gateway.New(nil, gateway.Options{}); !errors.Is(err, allocator.ErrInvalidOptions) {
		t.Errorf("no allocator: got %v, want ErrInvalidOptions", err)
	}
}

func TestCrossOriginRequestsAreRefused(t *testing.T) {
	t.Parallel()
	d := open(t, redistest.StartMini(t))
	from := func(header, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(header, value) }
	}
	for _, tt := range []struct {
		name   string
		change func(*http.Request)
		want   bool // refused
	}{
		{"a program", from("User-Agent", "curl"), false},
		{"a page of this origin", from("Sec-Fetch-Site", "same-origin"), false},
		{"a page of another origin", from("Sec-Fetch-Site", "cross-site"), true},
		{"a page of another origin of this site", from("Sec-Fetch-Site", "same-site"), true},
		{"a page of another origin in an older browser", from("Origin", "https://evil.example"), true},
		{"a sandboxed page in an older browser", from("Origin", "null"), true},
		{"a page of this origin in an older browser", from("Origin", "http://example.com"), false},
		{"Node.js with fetch", from("Sec-Fetch-Mode", "cors"), false},
	} {
		for _, request := range []struct {
			method, target string
			done           int
		}{
			{"POST", "/v1/ids/orders", 200},
			{"POST", "/v1/identities/companies", 200},
			{"GET", "/databases/Shop/hilo/next?tag=users", 201},
			{"PUT", "/databases/Shop/hilo/return?tag=users&end=1&last=1", 204},
			{"POST", "/databases/Shop/identity/next?name=companies", 200},
			{"POST", "/databases/Shop/identity/seed?name=companies&value=1", 200},
		} {
			want := request.done
			if tt.want {
				want = 403
			}
			a := d.send(request.method, request.target, tt.change)
			if a.status != want {
				t.Errorf("%s: %s %s: got %d %s, want %d", tt.name, request.method, request.target, a.status, a.body, want)
			}
			switch theirs := strings.HasPrefix(request.target, "/databases/"); {
			case !tt.want:
			case theirs && !strings.Contains(a.body, `"Type":"Raven.Client.Exceptions.Security.AuthorizationException"`):
				t.Errorf("%s: %s %s: got %s, want the form of RavenDB's errors", tt.name, request.method, request.target, a.body)
			case !theirs:
				wantProblem(t, a, 403, "about:blank")
			}
		}
		for _, method := range []string{"GET", "HEAD", "OPTIONS"} {
			if a := d.send(method, "/v1/ids/orders", tt.change); (a.status == 403) != tt.want {
				t.Errorf("%s: %s /v1/ids/orders: got %d, want 403: %t", tt.name, method, a.status, tt.want)
			}
		}
		if a := d.send("GET", "/v1/collections", tt.change); a.status != 200 {
			t.Errorf("%s: GET: got %d, want 200", tt.name, a.status)
		}
	}
}

// A foreign name can resolve to loopback (DNS rebinding), and its pages are then of the same origin.
func TestForeignHostIsRefusedOnLoopback(t *testing.T) {
	t.Parallel()
	s := redistest.StartMini(t)
	loopback := open(t, s, func(_ *allocator.Options, o *gateway.Options) { o.Loopback = true })
	reachable := open(t, s)
	for host, foreign := range map[string]bool{
		"localhost:8080": false, "127.0.0.1": false, "127.0.0.2:8080": false, "[::1]:8080": false,
		"rebound.example": true, "rebound.example:8080": true, "": true,
	} {
		as := func(r *http.Request) { r.Host = host }
		for _, request := range []struct {
			method, target string
			done           int
		}{
			{"POST", "/v1/ids/orders", 200},
			{"GET", "/v1/collections", 200},
			{"GET", "/databases/Shop/hilo/next?tag=users", 201},
			{"POST", "/databases/Shop/identity/next?name=companies", 200},
		} {
			want := request.done
			if foreign {
				want = 421
			}
			if a := loopback.send(request.method, request.target, as); a.status != want {
				t.Errorf("Host %q: %s %s: got %d %s, want %d", host, request.method, request.target, a.status, a.body, want)
			}
			if a := reachable.send(request.method, request.target, as); a.status != request.done {
				t.Errorf("Host %q, not on loopback: %s %s: got %d %s, want %d", host, request.method, request.target, a.status, a.body, request.done)
			}
		}
	}
	wantProblem(t, loopback.send("POST", "/v1/ids/orders", func(r *http.Request) { r.Host = "rebound.example" }), 421, "about:blank")
}
