package show

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/cli/internal/web"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// served is a running hilo top --listen and a client of it.
type served struct {
	t      *testing.T
	url    string
	client *http.Client
}

// serve starts hilo top --listen in this process until the end of the test.
func serve(t *testing.T, args ...string) served {
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
	return served{t, url, &http.Client{Transport: transport}}
}

// request sends a request, modified by change, and returns the response and its body.
func (s served) request(method, path string, change ...func(*http.Request)) (*http.Response, string) {
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
func (s served) events() func() snapshot {
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
	return func() (next snapshot) {
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
		site := serve(t, "--redis", s.URL())
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
		got := clitest.Decode[snapshot](t, body)
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

// TestSiteSendsChanges to two viewers: first the whole state, and then changed rows only.
func TestSiteSendsChanges(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.Must(t, "next", "orders", "--redis", s.URL())
		clitest.Must(t, "next", "users", "--redis", s.URL())
		site := serve(t, "--redis", s.URL())
		one, two := site.events(), site.events()
		if first := one(); len(first.Collections) != 2 || len(first.Servers) != 1 {
			t.Fatalf("first: %+v", first)
		}
		two()
		for e := one(); len(e.Collections) > 0; e = one() { // until the rates are known
		}
		client := s.Client(t)
		client.HIncrBy(t.Context(), "{Raven}/HiLo/orders", "Max", 70000)
		client.HIncrBy(t.Context(), "{Raven}/HiLo/orders", "Epoch", 1)
		for _, next := range []func() snapshot{one, two} {
			e := next()
			for len(e.Collections) != 1 || e.Collections[0].Jumped == nil {
				e = next()
			}
			if c := e.Collections[0]; c.Collection != "orders" || c.Jumped.By != 70000 || !e.Summary.Jumps.Alarm {
				t.Errorf("a jump: %+v", e)
			}
		}
		_, history := site.request(http.MethodGet, "/history?server="+strings.TrimSuffix(strings.TrimPrefix(s.URL(), "redis://"), "/0")+"&collection=orders")
		if got := clitest.Decode[shownHistory](t, history); len(got.Jumps) != 1 || len(got.Readings) < 1 {
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
	site := serve(t, "--redis", "embedded:")
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	tests := []struct {
		name, method, path string
		change             func(*http.Request)
		want               int
	}{
		{"nothing", http.MethodGet, "/", host("localhost:1"), http.StatusOK},
		{"no HEAD", http.MethodHead, "/events", host("127.0.0.1"), http.StatusOK},
		{"no health check", http.MethodGet, "/healthz", host("[::1]:80"), http.StatusOK},
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

func TestSiteRequiresSignIn(t *testing.T) {
	t.Parallel()
	const token = "a token of enough bytes"
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	site := serve(t, "--redis", "embedded:", "--token-file", file)
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

func TestSiteIsSmall(t *testing.T) {
	t.Parallel()
	const limit = 61_440
	size := 0
	err := fs.WalkDir(page, "page", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := page.ReadFile(path)
		size += len(text)
		for line := range strings.Lines(string(text)) {
			if len(line) > 200 {
				t.Errorf("%s has a line of %d bytes", path, len(line))
			}
		}
		return err
	})
	if err != nil || size > limit {
		t.Errorf("%d bytes, want at most %d; %v", size, limit, err)
	}
}

// newSite returns a site of one server, without a listener.
func newSite() *site {
	targets := []target.Target{{Name: "north"}}
	t := top{Session: &base.Session{Namespace: "Raven", Log: zap.NewNop()}, targets: targets, Sort: sorts[0], Limit: math.MaxInt64, web: new(web.Server)}
	return &site{top: t, done: make(chan struct{}), state: newState(targets, t.Limit), viewers: make(map[chan []byte]struct{})}
}

func TestSiteEscapesNames(t *testing.T) {
	t.Parallel()
	s := newSite()
	hostile := []string{`<img src=x onerror="alert(1)">`, "\u202egnp.exe\x07", strings.Repeat("x", 128), "<!--events-->", "𝒳\U000e0001"}
	l := at(0)
	for _, name := range hostile {
		l.counters = append(l.counters, polledCounter{Counter: counterOf(name, 1, 1, 0), at: l.at})
	}
	l.Prefix = "\u202e<b>"
	s.merge(l)
	recorder := httptest.NewRecorder()
	s.servePage(recorder, nil)
	got := recorder.Body.String()
	for _, want := range []string{
		`<bdi>&lt;img src=x onerror=&#34;alert(1)&#34;&gt;</bdi>`, `<bdi>\u202egnp.exe\u0007</bdi>`, "data-collection=\"\u202egnp.exe\x07\"",
		strings.Repeat("x", 128), `<bdi>&lt;!--events--&gt;</bdi>`, `<bdi>𝒳\u{e0001}</bdi>`, `<td role="cell" data-field="prefix">\u202e&lt;b&gt;</td>`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in the page", want)
		}
	}
	if strings.Contains(got, "<img src=x") || strings.Contains(got, "<b>") {
		t.Errorf("a name was not escaped: %s", got)
	}
}

// TestSiteDropsAViewerThatStalls without an effect on other viewers.
func TestSiteDropsAViewerThatStalls(t *testing.T) {
	t.Parallel()
	s := newSite()
	s.merge(at(0, counterOf("orders", 1, 1, 0)))
	_, stalled := s.subscribe()
	_, reads := s.subscribe()
	for i := range maxBehind + 1 {
		s.merge(at(float64(i+1), counterOf("orders", int64(i+2), 1, 0)))
		if _, ok := <-reads; !ok {
			t.Fatalf("a viewer that reads was dropped after %d polls", i+1)
		}
	}
	for range maxBehind {
		<-stalled
	}
	if _, ok := <-stalled; ok || len(s.viewers) != 1 {
		t.Errorf("got %d viewers, want the stalled one dropped", len(s.viewers))
	}
}

// TestSiteSendsLittle changes 100 of 10,000 counters in each poll.
func TestSiteSendsLittle(t *testing.T) {
	t.Parallel()
	const limit = 50_000 // bytes per poll
	s := newSite()
	counters := func(poll int64) pollResult {
		l := at(float64(poll))
		for i := range int64(10_000) {
			value, ranges := i*1_000_000_000, int64(100)
			if i%100 == 0 {
				value, ranges = value+poll*(1234+i), ranges+poll
			}
			l.counters = append(l.counters, polledCounter{Counter: counterOf(fmt.Sprintf("collection-%05d", i), value, ranges, 0), at: l.at})
		}
		return l
	}
	s.merge(counters(0))
	s.merge(counters(1))
	_, viewer := s.subscribe()
	for i := range int64(8) {
		s.merge(counters(i + 2))
		if frame := <-viewer; len(frame) > limit {
			t.Errorf("poll %d: %d bytes, want at most %d: %s", i, len(frame), limit, frame[:1000])
		} else if i == 7 {
			t.Logf("%d bytes per poll", len(frame))
		}
	}
	recorder, start := httptest.NewRecorder(), time.Now()
	s.servePage(recorder, nil)
	if got := strings.Count(recorder.Body.String(), "<tr role=\"row\" data-collection="); got != maxRows || !strings.Contains(recorder.Body.String(), "and 9500 more") {
		t.Errorf("%d rows without JavaScript, after %v", got, time.Since(start))
	}
}
