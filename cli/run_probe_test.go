package cli

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
)

func TestProbePrintsTheResponse(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ready") })
	mux.HandleFunc("/starting", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no server is up", http.StatusServiceUnavailable)
	})
	mux.HandleFunc("/hanging", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)

	hostPort := strings.TrimPrefix(server.URL, "http://")
	for _, address := range []string{server.URL + "/readyz", server.URL, server.URL + "?x=1", hostPort, hostPort + "/readyz"} {
		if got := clitest.Must(t, "probe", address); got != "ready\n" {
			t.Errorf("probe %s: got %q, want ready", address, got)
		}
	}
	shown := clitest.Decode[probeAnswer](t, clitest.Must(t, "probe", server.URL+"/readyz", "--output", "json"))
	if want := (probeAnswer{Ready: true, Status: 200, Answer: "ready"}); shown != want {
		t.Errorf("%+v", shown)
	}
	clitest.MustFail(t, exit.Failed, clitest.Hilo(t, "probe", server.URL+"/starting"), "/starting is not ready: no server is up")
	r := clitest.Hilo(t, "probe", server.URL+"/starting", "--output", "json")
	if want := (probeAnswer{Status: 503, Answer: "no server is up"}); r.Code != exit.Failed || clitest.Decode[probeAnswer](t, r.Stdout) != want {
		t.Errorf("%+v", r)
	}
	clitest.MustFail(t, exit.Failed, clitest.Hilo(t, "probe", server.URL+"/hanging", "--timeout", "10ms"), "nothing came back within 10ms")
}

func TestProbeReportsARefusedConnection(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	clitest.MustFail(t, exit.Failed, clitest.Hilo(t, "probe", "http://"+listener.Addr().String()), "connection refused")
}

func TestProbeRefusesABadCommandLine(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"no port", []string{"127.0.0.1"}, `the URL is "127.0.0.1": must be such as http://`},
		{"a port that is no number", []string{"localhost:http"}, `the URL is "localhost:http": must be such as http://`},
		{"no host, but a port", []string{":9090"}, `the URL is ":9090": must be such as http://`},
		{"another scheme", []string{"redis://h"}, "must be such as http://"},
		{"no host", []string{"http:///readyz"}, "must be such as http://"},
		{"a server", []string{"--redis", "embedded:"}, "uses no server; remove --redis"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			clitest.MustFail(t, exit.Usage, clitest.Hilo(t, append([]string{"probe"}, test.args...)...), test.want)
		})
	}
}
