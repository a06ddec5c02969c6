package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/gateway"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// prometheusTool returns the path of a program of the Debian package prometheus.
func prometheusTool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		redistest.Missing(t, name+" of the Debian package prometheus")
	}
	return path
}

// It checks the syntax only, because the file with the token of the gateway exists only in the containers.
func TestPromtoolFindsNoFault(t *testing.T) {
	t.Parallel()
	promtool := prometheusTool(t, "promtool")
	for _, arguments := range []string{"check config --syntax-only prometheus.yml", "check rules alerts.yml", "test rules alerts_test.yml"} {
		command := exec.CommandContext(t.Context(), promtool, strings.Fields(arguments)...)
		command.Dir = "../prometheus"
		if output, err := command.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", arguments, err, output)
		}
	}
}

// It evaluates every panel and every rule on the metrics of services.
func TestPrometheusScrapesAFleet(t *testing.T) {
	t.Parallel()
	program := prometheusTool(t, "prometheus")
	north, urls := masters(t)
	var targets []string
	for range 2 {
		s := start(t, "HILO_REDIS_URL="+urls)
		s.createOrders()
		targets = append(targets, strings.TrimPrefix(s.url, "http://"))
	}
	const token = "a-token-of-some-length"
	p := startPrometheus(t, program, targets, fmt.Sprintf("{job_name: gateway, authorization: {credentials: %s}, static_configs: [{targets: [%q]}]}",
		token, startGateway(t, urls, token)))

	p.await(t, `hilo_gateway_requests_total{job="gateway", route="GET /metrics", code="200"} > 0`)
	p.await(t, `sum(hilo_ids_issued_total) > 200`)
	p.await(t, `count(hilo_server_up{job="hilo"} == 1) == 4`)
	p.await(t, `hilo_server_info{server="north", prefix="NorthServer/"}`)
	variables := strings.NewReplacer("$job", ".*", "$collection", ".*", "$server", ".*", "$__rate_interval", "10s", "$__range", "1m")
	for _, panel := range readDashboard(t).Panels {
		for _, target := range panel.Targets {
			expr := variables.Replace(target.Expr)
			if regexp.MustCompile(`(> 0|== 0\))$`).MatchString(expr) { // shows faults only
				if found := p.query(t, expr); len(found) > 0 {
					t.Errorf("%s: %s returns %v, want nothing", panel.Title, expr, found)
				}
				continue
			}
			p.await(t, expr)
		}
	}

	north.Kill()
	p.awaitRule(t, "HiloServerDown")
}

// masters starts two masters with prefixes and returns north and the URLs of both.
func masters(t *testing.T) (north *redistest.Server, urls string) {
	t.Helper()
	north, south := redistest.StartMini(t), redistest.StartMini(t)
	for name, master := range map[string]*redistest.Server{"NorthServer/": north, "SouthServer/": south} {
		if err := master.Client(t).HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "ServerPrefix", name).Err(); err != nil {
			t.Fatal(err)
		}
	}
	return north, "north=" + north.URL() + " south=" + south.URL()
}

// createOrders creates orders, about a hundred a second, until the test ends.
func (s *running) createOrders() {
	ctx, cancel := context.WithCancel(context.Background())
	var creating sync.WaitGroup
	creating.Go(func() {
		for ticker := time.NewTicker(10 * time.Millisecond); ctx.Err() == nil; <-ticker.C {
			s.send(ctx, http.MethodPost, "/orders", nil)
		}
	})
	s.t.Cleanup(func() { cancel(); creating.Wait() })
}

// startGateway starts a gateway for callers with a token and returns its address.
func startGateway(t *testing.T, urls, token string) string {
	t.Helper()
	ids, disconnect, err := connect(urls, allocator.Options{Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	handler, err := gateway.New(ids, gateway.Options{Tokens: []string{token}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.Close()
		_ = ids.Close(context.WithoutCancel(t.Context()))
		disconnect()
	})
	return server.Listener.Addr().String()
}

type prometheusServer struct{ base string }

func startPrometheus(t *testing.T, program string, targets []string, more string) prometheusServer {
	t.Helper()
	rules, err := filepath.Abs("../prometheus/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	list, err := json.Marshal(targets)
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "prometheus.yml")
	text := fmt.Sprintf("global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}\nrule_files: [%q]\n"+
		"scrape_configs: [{job_name: hilo, static_configs: [{targets: %s}]}, %s]\n", rules, list, more)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	command := exec.CommandContext(ctx, program, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(t.TempDir(), "data"),
		"--web.listen-address=127.0.0.1:0", "--log.level=info")
	log, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	address, listening := make(chan string, 1), regexp.MustCompile(`msg="Listening on" address=(127\.0\.0\.1:[0-9]+)`)
	var reading sync.WaitGroup
	reading.Go(func() {
		for lines := bufio.NewScanner(log); lines.Scan(); {
			if found := listening.FindStringSubmatch(lines.Text()); found != nil {
				address <- found[1]
			}
		}
	})
	t.Cleanup(func() { cancel(); reading.Wait(); _ = command.Wait() })
	select {
	case found := <-address:
		return prometheusServer{"http://" + found}
	case <-time.After(time.Minute):
		t.Fatal("Prometheus did not log its address within a minute")
		return prometheusServer{}
	}
}

// await waits until an expression has a result.
func (p prometheusServer) await(t *testing.T, expr string) {
	t.Helper()
	awaitTrue(t, expr, func() bool { return len(p.query(t, expr)) > 0 })
}

// awaitRule waits until an alert is pending or firing. No rule may have an error meanwhile.
func (p prometheusServer) awaitRule(t *testing.T, name string) {
	t.Helper()
	awaitTrue(t, name, func() bool {
		var found struct {
			Groups []struct {
				Rules []struct{ Name, State, Health, LastError string }
			}
		}
		p.get(t, "rules", nil, &found)
		var is bool
		for _, group := range found.Groups {
			for _, rule := range group.Rules {
				if rule.Health == "err" {
					t.Errorf("%s: %s", rule.Name, rule.LastError)
				}
				is = is || rule.Name == name && rule.State != "inactive"
			}
		}
		return is
	})
}

func (p prometheusServer) query(t *testing.T, expr string) []json.RawMessage {
	t.Helper()
	var found struct{ Result []json.RawMessage }
	p.get(t, "query", url.Values{"query": {expr}}, &found)
	return found.Result
}

func (p prometheusServer) get(t *testing.T, what string, parameters url.Values, data any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.base+"/api/v1/"+what+"?"+parameters.Encode(), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer := struct {
		Status, Error string
		Data          any
	}{Data: data}
	if response.StatusCode == http.StatusServiceUnavailable { // it is starting
		return
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || answer.Status != "success" {
		t.Fatalf("%s %v: %v %s", what, parameters, err, answer.Error)
	}
}
