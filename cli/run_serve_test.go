package cli

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// runningServe is a hilo serve that runs in the background.
type runningServe struct {
	url    string
	stderr *clitest.Watched
	stop   func() (code int)
}

// startServe starts hilo serve in this process, at most until the test ends.
func startServe(t *testing.T, args ...string) runningServe {
	t.Helper()
	var stdout, stderr clitest.Watched
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	go func() {
		ended <- clitest.Run(ctx, append([]string{"hilo", "serve", "--listen", "127.0.0.1:0"}, args...), base.Env{Stdout: &stdout, Stderr: &stderr})
	}()
	stop := func() int {
		cancel()
		code := <-ended
		ended <- code
		return code
	}
	t.Cleanup(func() { stop() })
	stdout.Await(t, "\n")
	url, _, _ := strings.Cut(stdout.String(), "\n")
	return runningServe{url, &stderr, stop}
}

// sendRequest sends a request and returns the status and the body.
func sendRequest(t *testing.T, client *http.Client, method, url string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, strings.TrimSpace(string(body))
}

// newHTTPClient returns a client whose connections are closed when the test ends.
func newHTTPClient(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func TestServeIssuesIDsAndReturnsTheRest(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.Must(t, "settings", "set", "--tag", "A", "--redis", s.URL())
		r, client := startServe(t, "--redis", s.URL(), "--database", "Shop=Raven"), newHTTPClient(t)
		if status, body := sendRequest(t, client, "POST", r.url+"/v1/ids/orders?count=2"); status != 200 || body != `{"ids":["orders/1-A","orders/2-A"]}` {
			t.Errorf("%d %s", status, body)
		}
		if status, body := sendRequest(t, client, "GET", r.url+"/topology?name=Shop"); status != 200 ||
			body != `{"Nodes":[{"Url":"`+r.url+`","ClusterTag":"A","ServerRole":"Member","Database":"Shop"}],"Etag":1}` {
			t.Errorf("%d %s", status, body)
		}
		status, body := sendRequest(t, client, "GET", r.url+"/databases/shop/hilo/next?tag=users&lastBatchSize=0&lastRangeAt=&identityPartsSeparator=/&lastMax=0")
		if status != 201 || !strings.HasPrefix(body, `{"Prefix":"users/","Low":1,"High":32,"LastSize":32,"ServerTag":"A","LastRangeAt":"`) {
			t.Errorf("%d %s", status, body)
		}
		if got := clitest.Must(t, "probe", r.url+"/readyz"); got != "ready\n" {
			t.Errorf("%q", got)
		}
		_, listed := sendRequest(t, client, "GET", r.url+"/v1/collections")
		var seen, want any
		if err := json.Unmarshal([]byte(listed), &seen); err != nil {
			t.Fatal(err)
		}
		want = clitest.Decode[any](t, clitest.Must(t, "list", "--redis", s.URL(), "--output", "json"))
		if a, b := asJSON(t, seen), asJSON(t, want); a != b {
			t.Errorf("%s\nhilo list %s", a, b)
		}
		client.CloseIdleConnections()
		if code := r.stop(); code != exit.Done || r.stderr.String() != "" {
			t.Errorf("exit %d, %q", code, r.stderr.String())
		}
		if max := s.Client(t).HGet(t.Context(), "{Raven}/HiLo/orders", "Max").Val(); max != "2" {
			t.Errorf("Max is %s", max)
		}
	})
}

func TestServeFetchesARangeOfEachNamedCollectionFirst(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		r := startServe(t, "--redis", s.URL(), "orders", "users")
		for collection, want := range map[string]string{"orders": "32", "users": "32", "invoices": ""} {
			if max := s.Client(t).HGet(t.Context(), "{Raven}/HiLo/"+collection, "Max").Val(); max != want {
				t.Errorf("Max of %s is %q, want %q", collection, max, want)
			}
		}
		r.stop()
		if max := s.Client(t).HGet(t.Context(), "{Raven}/HiLo/orders", "Max").Val(); max != "0" {
			t.Errorf("after the end Max is %s", max)
		}
	})
}

func TestServeBoundsNames(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.Must(t, "settings", "set", "--tag", "A", "--redis", s.URL())
		r, client := startServe(t, "--redis", s.URL(), "--database", "Shop=Raven", "--max-names", "1", "orders", "users"), newHTTPClient(t)
		for _, tt := range []struct {
			request string
			status  int
		}{
			{"POST /v1/ids/orders", 200},
			{"POST /v1/ids/users", 200},
			{"POST /v1/ids/invoices", 429},
			{"GET /databases/Shop/hilo/next?tag=orders", 201},
			{"GET /databases/Shop/hilo/next?tag=users", 429},
		} {
			method, path, _ := strings.Cut(tt.request, " ")
			if status, body := sendRequest(t, client, method, r.url+path); status != tt.status {
				t.Errorf("%s: got %d %s, want %d", tt.request, status, body, tt.status)
			}
		}
	})
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestServeAcceptsReturnsByDefault(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		flags []string
		want  string
	}{
		{nil, "34"},
		{[]string{"--accept-returns=false"}, "64"},
		{[]string{"--accept-returns=true"}, "34"},
	} {
		t.Run(strings.Join(tt.flags, ""), func(t *testing.T) {
			t.Parallel()
			s := redistest.StartMini(t)
			clitest.Must(t, "init", "--yes", "--tag", "A", "--redis", s.URL(), "--namespace", "shop")
			r, client := startServe(t, append(tt.flags, "--redis", s.URL())...), newHTTPClient(t)
			for range 2 {
				sendRequest(t, client, "GET", r.url+"/databases/Shop/hilo/next?tag=users")
			}
			if status, body := sendRequest(t, client, "PUT", r.url+"/databases/Shop/hilo/return?tag=users&end=64&last=34"); status != 204 || body != "" {
				t.Errorf("%d %s", status, body)
			}
			if max := s.Client(t).HGet(t.Context(), "{shop}/HiLo/users", "Max").Val(); max != tt.want {
				t.Errorf("Max is %s, want %s", max, tt.want)
			}
			if got := r.stderr.String(); got != "" { // RavenDB's clients are not mentioned without --database
				t.Errorf("stderr %q, want none", got)
			}
		})
	}
}

func TestServeStartsBeforeItsServer(t *testing.T) {
	t.Parallel()
	s := redistest.StartMini(t)
	clitest.Must(t, "settings", "set", "--tag", "A", "--redis", s.URL())
	s.Kill()
	r, client := startServe(t, "--redis", s.URL(), "--database", "Shop=Raven", "--timeout", "1s", "orders"), newHTTPClient(t)
	r.stderr.Await(t, "some collections have no range yet")
	if status, _ := sendRequest(t, client, "GET", r.url+"/readyz"); status != 503 {
		t.Errorf("%d", status)
	}
	s.Restart()
	s.Client(t).HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "NodeTag", "A")
	clitest.AwaitTrue(t, "ids", func() bool {
		status, _ := sendRequest(t, client, "POST", r.url+"/v1/ids/orders")
		next, _ := sendRequest(t, client, "GET", r.url+"/databases/Shop/hilo/next?tag=users")
		return status == 200 && next == 201
	})
}

func TestServeRefusesABadCommandLine(t *testing.T) {
	t.Parallel()
	empty := clitest.WriteFile(t, "# none\n\n")
	short := clitest.WriteFile(t, "0123456789abcde\n")
	token := clitest.WriteFile(t, "0123456789abcdef\n")
	for _, tt := range []struct {
		name string
		args []string
		want []string
	}{
		{"an invalid collection", []string{"orders/1"}, []string{`"orders/1"`}},
		{"a collection twice", []string{"orders", "orders"}, []string{`"orders" is named twice`}},
		{"no port", []string{"--listen", "127.0.0.1"}, []string{`--listen is "127.0.0.1"`, "must be HOST:PORT"}},
		{"all interfaces", []string{"--listen", ":0"}, []string{"takes TLS", "--token-file or --client-ca", "--insecure"}},
		{"all interfaces, with a token alone", []string{"--listen", "0.0.0.0:0", "--token-file", token}, []string{"takes TLS"}},
		{"a database without a namespace", []string{"--database", "Shop"}, []string{"must be NAME=NAMESPACE"}},
		{"an invalid namespace", []string{"--database", "Shop={x}"}, []string{`holds "{"`}},
		{"an invalid namespace after a comma", []string{"--database", "Shop=a,b}"}, []string{`holds "}"`}},
		{"a database twice", []string{"--database", "Shop=a", "--database", "shop=b"}, []string{`names "shop" twice`}},
		{"an invalid public URL", []string{"--public-url", "ids.example.org"}, []string{"must be such as https://"}},
		{"a certificate without a key", []string{"--cert", "c.pem"}, []string{"--cert", "without the key", "add --key FILE"}},
		{"a key without a certificate", []string{"--key", "k.pem"}, []string{"--key", "without the certificate", "add --cert FILE"}},
		{"authorities without a certificate", []string{"--client-ca", "c.pem"}, []string{"--client-ca is for TLS"}},
		{"a certificate that does not exist", []string{"--cert", "c.pem", "--key", "k.pem"}, []string{"are not a certificate and its key"}},
		{"tokens that do not exist", []string{"--token-file", "/none"}, []string{"--token-file names a file that cannot be read (no such file or directory)\n"}},
		{"no token", []string{"--token-file", empty}, []string{"holds no token"}},
		{"a short token", []string{"--token-file", short}, []string{"15 bytes"}},
		{"no connection", []string{"--max-connections", "0"}, []string{"must be 1 or more"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			clitest.MustFail(t, exit.Usage, clitest.Hilo(t, append([]string{"serve", "--redis", "embedded:"}, tt.args...)...), tt.want...)
		})
	}
}

func TestServeRefusesADatabaseUntilItsServerHasANodeTag(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.Must(t, "settings", "set", "North/", "--redis", s.URL())
		unnamed := startServe(t, "--redis", s.URL())
		r, client := startServe(t, "--redis", s.URL(), "--database", "Shop=Raven"), newHTTPClient(t)
		const remedy = "hilo settings set --tag A --namespace Raven"
		if got := r.stderr.String(); !strings.Contains(got, "warn") || !strings.Contains(got, remedy) {
			t.Errorf("with --database the log is %q, want a warning with %q", got, remedy)
		}
		if got := unnamed.stderr.String(); got != "" {
			t.Errorf("without --database the log is %q, want nothing", got)
		}
		const next = "/databases/Shop/hilo/next?tag=users"
		if status, body := sendRequest(t, client, "GET", r.url+next); status != 500 || !strings.Contains(body, "ErrPrefixMissing") || !strings.Contains(body, remedy) {
			t.Errorf("without a tag: got %d %s, want 500 and ErrPrefixMissing with %q", status, body, remedy)
		}
		if status, body := sendRequest(t, client, "POST", r.url+"/v1/ids/orders"); status != 200 {
			t.Errorf("the plain API: got %d %s, want 200", status, body)
		}
		clitest.Must(t, "settings", "set", "North/", "--tag", "A", "--redis", s.URL())
		if status, body := sendRequest(t, client, "GET", r.url+next); status != 201 {
			t.Errorf("with a tag: got %d %s, want 201", status, body)
		}
	})
}

// A client that keeps its connection open between two requests does not lock out others.
func TestServersCloseAnIdleConnectionForANewOne(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{
		"serve": startServe(t, "--redis", "embedded:", "--max-connections", "2").url,
		"top":   startTop(t, "--redis", "embedded:", "--max-connections", "2").url,
	} {
		clients := []*http.Client{newHTTPClient(t), newHTTPClient(t), newHTTPClient(t)}
		for range 2 {
			for i, client := range clients {
				client.Timeout = time.Minute // half of that of idle connections
				if status, body := sendRequest(t, client, http.MethodGet, url+map[string]string{"serve": "/healthz", "top": "/"}[name]); status != http.StatusOK {
					t.Errorf("%s: client %d: got %d %s, want 200", name, i, status, body)
				}
			}
		}
	}
}

// A server without settings makes no counters, and serve says how it gets them.
func TestServeExplainsAServerWithoutSettings(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		if err := s.Client(t).Del(t.Context(), "{Raven}/ServerPrefixForHilo").Err(); err != nil {
			t.Fatal(err)
		}
		r, client := startServe(t, "--redis", s.URL()), newHTTPClient(t)
		r.stderr.Await(t, "the server has no settings")
		r.stderr.Await(t, "hilo init")
		if status, body := sendRequest(t, client, "POST", r.url+"/v1/ids/orders"); status != 422 || !strings.Contains(body, "ErrNotSeeded") || !strings.Contains(body, "hilo init") {
			t.Errorf("got %d %s, want 422, ErrNotSeeded and hilo init", status, body)
		}
		clitest.Must(t, "init", "--yes", "--redis", s.URL())
		if status, body := sendRequest(t, client, "POST", r.url+"/v1/ids/orders"); status != 200 {
			t.Errorf("after hilo init: got %d %s, want 200", status, body)
		}
	})
}

func TestServeRefusesAnAddressInUse(t *testing.T) {
	t.Parallel()
	r := startServe(t, "--redis", "embedded:")
	got := clitest.Hilo(t, "serve", "--redis", "embedded:", "--listen", strings.TrimPrefix(r.url, "http://"))
	if got.Code != exit.Failed || !strings.Contains(got.Stderr, "address already in use") || strings.Contains(got.Stdout, r.url) {
		t.Errorf("%+v", got)
	}
}

func TestServeContinuesAtTheNextMaster(t *testing.T) {
	t.Parallel()
	clitest.EachStart(t, func(t *testing.T, begin func(args ...string) *redistest.Server) {
		north, _, flags := clitest.Masters(t, func() *redistest.Server { return begin() })
		r, client := startServe(t, append(flags, "--log-level", "error")...), newHTTPClient(t)
		_, first := sendRequest(t, client, "POST", r.url+"/v1/ids/orders")
		north.Kill()
		status, second := sendRequest(t, client, "POST", r.url+"/v1/ids/users")
		if status != 200 || !strings.Contains(first, "orders/NorthServer/1") || !strings.Contains(second, "users/SouthServer/1") {
			t.Errorf("%s, %d %s", first, status, second)
		}
	})
}

// The name of another site can resolve to loopback.
func TestServeRefusesAForeignHostOnLoopback(t *testing.T) {
	t.Parallel()
	s := redistest.StartMini(t)
	r, client := startServe(t, "--redis", s.URL()), newHTTPClient(t)
	for host, want := range map[string]int{"": http.StatusOK, "localhost": http.StatusOK, "rebound.example": http.StatusMisdirectedRequest} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url+"/v1/ids/orders", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = host
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("Host %q: got %d, want %d", host, response.StatusCode, want)
		}
	}
}
