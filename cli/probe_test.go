package cli

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestProbeShowsWhatAWorkerAnswers(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ready") })
	mux.HandleFunc("/starting", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no server is up", http.StatusServiceUnavailable)
	})
	mux.HandleFunc("/hanging", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)

	if got := must(t, "probe", server.URL+"/readyz"); got != "ready\n" {
		t.Errorf("%q", got)
	}
	shown := decode[answer](t, must(t, "probe", server.URL+"/readyz", "--output", "json"))
	if want := (answer{Ready: true, Status: 200, Answer: "ready"}); shown != want {
		t.Errorf("%+v", shown)
	}
	mustFail(t, exitFailed, hilo(t, "probe", server.URL+"/starting"), "/starting is not ready: no server is up")
	r := hilo(t, "probe", server.URL+"/starting", "--output", "json")
	if want := (answer{Status: 503, Answer: "no server is up"}); r.code != exitFailed || decode[answer](t, r.stdout) != want {
		t.Errorf("%+v", r)
	}
	mustFail(t, exitFailed, hilo(t, "probe", server.URL+"/hanging", "--timeout", "10ms"), "nothing came back within 10ms")
}

func TestProbeOfNobody(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	mustFail(t, exitFailed, hilo(t, "probe", "http://"+listener.Addr().String()), "connection refused")
}

func TestMistakesInTheURLOfAProbe(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"no scheme", []string{"127.0.0.1:9090"}, `the URL is "127.0.0.1:9090": must be such as http://`},
		{"another scheme", []string{"redis://h"}, "must be such as http://"},
		{"no host", []string{"http:///readyz"}, "must be such as http://"},
		{"two", []string{"http://a", "http://b"}, `"http://b" is one too many`},
		{"a server", []string{"--redis", "embedded:"}, "leave out --redis"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			mustFail(t, exitUsage, hilo(t, append([]string{"probe"}, test.args...)...), test.want)
		})
	}
}
