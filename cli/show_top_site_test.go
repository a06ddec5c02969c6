package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// runningTop is a running hilo top --listen and a client of it.
type runningTop struct {
	t      *testing.T
	url    string
	client *http.Client
}

// startTop starts hilo top --listen in this process until the end of the test. It returns when every server was polled, for which
// hilo top itself does not wait long.
func startTop(t *testing.T, args ...string) runningTop {
	t.Helper()
	var stdout, stderr clitest.Watched
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	args = append([]string{"hilo", "top", "--listen", "127.0.0.1:0", "--interval", "100ms"}, args...)
	go func() { ended <- clitest.Run(ctx, args, base.Env{Stdout: &stdout, Stderr: &stderr}) }()
	t.Cleanup(func() {
		cancel()
		if code := <-ended; code != exit.Done || stderr.String() != "" {
			t.Errorf("exit %d, stderr %q", code, stderr.String())
		}
	})
	stdout.Await(t, "\n")
	url, _, _ := strings.Cut(stdout.String(), "\n")
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	site := runningTop{t, url, &http.Client{Transport: transport}}
	for polled := false; !polled; <-time.After(10 * time.Millisecond) {
		response, body := site.request(http.MethodGet, "/state")
		polled = response.StatusCode != http.StatusOK || !slices.ContainsFunc(clitest.Decode[topSnapshot](t, body).Servers,
			func(s topServer) bool { return s.State == "waiting" })
	}
	return site
}

// request sends a request, modified by change, and returns the response and its body.
func (s runningTop) request(method, path string, change ...func(*http.Request)) (*http.Response, string) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, change := range change {
		change(request)
	}
	response, err := s.client.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response, string(body)
}

// events returns a function that reads the next event.
func (s runningTop) events() func() topSnapshot {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/events", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	response, err := s.client.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { cancel(); response.Body.Close() })
	lines := bufio.NewReader(response.Body)
	return func() (next topSnapshot) {
		s.t.Helper()
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				s.t.Fatal(err)
			}
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				if err := json.Unmarshal([]byte(data), &next); err != nil {
					s.t.Fatal(err)
				}
				return next
			}
		}
	}
}

func TestSiteServesTheSameStateAsTopPrints(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.Must(t, "seed", "orders", "--max", "9007199254740993", "--redis", s.URL())
		clitest.Must(t, "identity", "next", "companies", "--redis", s.URL())
		site := startTop(t, "--redis", s.URL())
		response, body := site.request(http.MethodGet, "/state")
		printed := clitest.Must(t, "top", "--output", "json", "--interval", "100ms", "--redis", s.URL())
		shape := func(text string) (names []string) {
			var all map[string]json.RawMessage
			if err := json.Unmarshal([]byte(text), &all); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			for name := range all {
				names = append(names, name)
			}
			return names
		}
		if got, want := len(shape(body)), len(shape(printed)); got != want || response.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%d fields, want %d: %s", got, want, body)
		}
		got := clitest.Decode[topSnapshot](t, body)
		if !got.Servers[0].Up || len(got.Collections) != 1 || got.Collections[0].Max != 9007199254740993 || len(got.Identities) != 1 {
			t.Errorf("%+v", got)
		}
		_, page := site.request(http.MethodGet, "/")
		for _, want := range []string{`<tr role="row" data-collection="orders">`, `<td role="cell" data-field="max">9007199254740993</td>`, `<tr role="row" data-identity="companies">`, `<td role="cell" data-field="state">up</td>`, "1 of 1 up"} {
			if !strings.Contains(page, want) {
				t.Errorf("%s is not in the page\n%s", want, page)
			}
		}
		if strings.Contains(page, "<!--") || strings.Contains(page, "data-of=") {
			t.Errorf("the page is\n%s", page)
		}
	})
}

// TestSiteSendsChanges has two viewers. Each receives the whole state first, and then changed rows only.
func TestSiteSendsChanges(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.Must(t, "next", "orders", "--redis", s.URL())
		clitest.Must(t, "next", "users", "--redis", s.URL())
		site := startTop(t, "--redis", s.URL())
		one, two := site.events(), site.events()
		if first := one(); len(first.Collections) != 2 || len(first.Servers) != 1 {
			t.Fatalf("first: %+v", first)
		}
		two()
		for e := one(); len(e.Collections) > 0; e = one() { // until the rates are known
		}
		client := s.Client(t)
		const orders = "{Raven}/HiLo/orders"
		epoch, err := client.HGet(t.Context(), orders, "Epoch").Int64()
		if err != nil {
			t.Fatal(err)
		}
		// In one command, as a script writes them.
		if err := client.HSet(t.Context(), orders, "Max", 70001, "Epoch", epoch+1).Err(); err != nil {
			t.Fatal(err)
		}
		for _, next := range []func() topSnapshot{one, two} {
			e := next()
			for len(e.Collections) != 1 || e.Collections[0].Jumped == nil {
				e = next()
			}
			if c := e.Collections[0]; c.Collection != "orders" || c.Jumped.By != 70000 || !e.Summary.Jumps.Alarm {
				t.Errorf("a jump: %+v", e)
			}
		}
		_, history := site.request(http.MethodGet, "/history?server="+strings.TrimSuffix(strings.TrimPrefix(s.URL(), "redis://"), "/0")+"&collection=orders")
		if got := clitest.Decode[topHistory](t, history); len(got.Jumps) != 1 || len(got.Readings) < 1 {
			t.Errorf("history: %s", history)
		}
		client.Del(t.Context(), "{Raven}/HiLo/users")
		e := one()
		for len(e.Removed) == 0 {
			e = one()
		}
		if e.Removed[0].Collection != "users" {
			t.Errorf("removed: %+v", e.Removed)
		}
		s.Kill()
		for e = one(); e.Servers[0].Up; e = one() {
		}
		if down := e.Servers[0]; down.State != "down" || down.Fault == "" || down.Since == "" || !e.Summary.Servers.Alarm {
			t.Errorf("down: %+v", down)
		}
		s.Restart()
		for e = one(); !e.Servers[0].Up; e = one() {
		}
	})
}

func TestSiteRefuses(t *testing.T) {
	t.Parallel()
	site := startTop(t, "--redis", "embedded:")
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	tests := []struct {
		name, method, path string
		change             func(*http.Request)
		want               int
	}{
		{"nothing", http.MethodGet, "/", host("localhost:1"), http.StatusOK},
		{"no HEAD", http.MethodHead, "/events", host("127.0.0.1"), http.StatusOK},
		{"no health check", http.MethodGet, "/healthz", host("[::1]:80"), http.StatusOK},
		{"no health check by HEAD", http.MethodHead, "/healthz", host("127.0.0.1"), http.StatusOK},
		{"another path", http.MethodGet, "/page/page.js", host("127.0.0.1"), http.StatusNotFound},
		{"another host", http.MethodGet, "/state", host("rebound.example"), http.StatusMisdirectedRequest},
		{"POST", http.MethodPost, "/state", host("127.0.0.1"), http.StatusMethodNotAllowed},
		{"OPTIONS", http.MethodOptions, "/events", host("127.0.0.1"), http.StatusMethodNotAllowed},
		{"a history of no counter", http.MethodGet, "/history?server=x&collection=y", host("127.0.0.1"), http.StatusNotFound},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			response, _ := site.request(test.method, test.path, test.change, func(r *http.Request) { r.Header.Set("Origin", "https://other.example") })
			header := response.Header
			if response.StatusCode != test.want {
				t.Errorf("status %d, want %d", response.StatusCode, test.want)
			}
			policy := header.Get("Content-Security-Policy")
			if !strings.HasPrefix(policy, "default-src 'none';") || !strings.Contains(policy, "frame-ancestors 'none'") ||
				header.Get("Access-Control-Allow-Origin") != "" || header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("headers: %v", header)
			}
		})
	}
}

// A request inside what a proxy may regard as the body of another one is not served.
func TestSiteSmugglesNoRequest(t *testing.T) {
	t.Parallel()
	site := startTop(t, "--redis", "embedded:")
	const (
		get      = "GET /state HTTP/1.1\r\nHost: 127.0.0.1\r\n"
		smuggled = get + "Connection: close\r\n\r\n"
		chunked  = "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
	)
	body := fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(smuggled), smuggled)
	for _, tt := range []struct{ name, sent, want string }{
		{"Content-Length and chunked", get + "Content-Length: 99\r\n" + chunked + smuggled, "200"},
		{"chunked, of a health check", "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n" + chunked + smuggled, "200"},
		{"HTTP/1.0", "GET /state HTTP/1.0\r\nHost: 127.0.0.1\r\nConnection: keep-alive\r\n" + chunked + smuggled, "200"},
		{"a body that is too long", get + "Content-Length: 100000\r\n\r\n" + strings.Repeat("a", 100_000) + smuggled, "413"},
		{"a body that is not read", "GET /state HTTP/1.1\r\nHost: foreign.example\r\n" + body + smuggled, "421"},
		{"a body of a health check", "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n" + body + smuggled, "200"},
		{"a body of another method", "POST /state HTTP/1.1\r\nHost: 127.0.0.1\r\n" + chunked + smuggled, "405"},
		{"a body that is read", get + body + smuggled, "200 200"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(site.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(time.Minute))
			if _, err := io.WriteString(conn, tt.sent); err != nil {
				t.Fatal(err)
			}
			answers, err := io.ReadAll(conn)
			if err != nil && len(answers) == 0 {
				t.Fatal(err)
			}
			var got []string
			for _, answer := range strings.Split(string(answers), "HTTP/1.")[1:] {
				got = append(got, answer[2:5])
			}
			if got := strings.Join(got, " "); got != tt.want {
				t.Errorf("got answers %s, want %s and a closed connection", got, tt.want)
			}
		})
	}
}

func TestSiteReportsAnAddressInUse(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	addr := listener.Addr().String()
	clitest.MustFail(t, exit.Failed, clitest.Hilo(t, "top", "--listen", addr, "--redis", "embedded:"), addr, "address already in use", "--listen")
}

func TestSiteIsReachedByTheURLThatItPrints(t *testing.T) {
	t.Parallel()
	addresses := []string{"localhost:0"}
	if runtime.GOOS == "linux" { // other systems have 127.0.0.1 alone
		addresses = append(addresses, "127.0.0.2:0")
	}
	for _, address := range addresses {
		t.Run(address, func(t *testing.T) {
			t.Parallel()
			site := startTop(t, "--redis", "embedded:", "--listen", address)
			if response, body := site.request(http.MethodGet, "/state"); response.StatusCode != http.StatusOK {
				t.Errorf("%s/state: got %d %s, want 200", site.url, response.StatusCode, body)
			}
		})
	}
}

func TestSiteRequiresSignIn(t *testing.T) {
	t.Parallel()
	const token = "a token of enough bytes"
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	site := startTop(t, "--redis", "embedded:", "--token-file", file)
	if response, _ := site.request(http.MethodGet, "/healthz"); response.StatusCode != http.StatusOK {
		t.Errorf("a health check: %d", response.StatusCode)
	}
	basic := func(password string) func(*http.Request) {
		return func(r *http.Request) { r.SetBasicAuth("anyone", password) }
	}
	response, _ := site.request(http.MethodGet, "/state")
	if response.StatusCode != http.StatusUnauthorized || !strings.HasPrefix(response.Header.Get("WWW-Authenticate"), "Basic ") {
		t.Errorf("without a token: %d %v", response.StatusCode, response.Header)
	}
	if response, _ := site.request(http.MethodGet, "/state", basic("a token of others")); response.StatusCode != http.StatusUnauthorized {
		t.Errorf("with a wrong password: %d", response.StatusCode)
	}
	for name, change := range map[string]func(*http.Request){
		"a bearer token": func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) },
		"a password":     basic(token),
	} {
		if response, _ := site.request(http.MethodGet, "/state", change); response.StatusCode != http.StatusOK {
			t.Errorf("with %s: %d", name, response.StatusCode)
		}
	}
	response, _ = site.request(http.MethodGet, "/?token="+strings.ReplaceAll(token, " ", "+"))
	if cookies := response.Cookies(); len(cookies) != 1 || !cookies[0].HttpOnly || !cookies[0].Secure || cookies[0].SameSite != http.SameSiteStrictMode {
		t.Fatalf("cookies: %v", response.Header)
	}
	if response, _ := site.request(http.MethodGet, "/state", func(r *http.Request) { r.AddCookie(response.Cookies()[0]) }); response.StatusCode != http.StatusOK {
		t.Errorf("with the cookie: %d", response.StatusCode)
	}
}

func TestTopNamesAnAddressThatIsTaken(t *testing.T) {
	t.Parallel()
	taken := redistest.Listen(t, func(client net.Conn) { _ = client.Close() })
	r := clitest.Hilo(t, "top", "--redis", "embedded:", "--listen", taken)
	clitest.MustFail(t, exit.Failed, r, "cannot listen", "address already in use", "--listen")
}
