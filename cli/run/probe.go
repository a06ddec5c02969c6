package run

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/target"
)

const defaultProbe = "http://127.0.0.1:8080/readyz"

// probe checks the health of a service or a gateway, for containers without an HTTP client.
type probe struct {
	*base.Session
	URL string
	TLS *tls.Config
}

// ProbeCommand returns hilo probe.
func ProbeCommand(env base.Env) *cli.Command {
	return &cli.Command{
		Name:      "probe",
		Usage:     "check whether a service or a gateway is ready",
		UsageText: "hilo probe [URL]",
		Description: base.Describe(`
Sends a GET request to URL, by default `+defaultProbe+`, and prints
the response. It succeeds if the status is 200, and waits at most --timeout. For https://
--tls-ca names the authorities to trust. host:port stands for http://host:port, and
without a path the path is /readyz.`,
			[]string{"hilo probe", "hilo probe 127.0.0.1:8080", "hilo probe http://127.0.0.1:9090/healthz --timeout 1s"},
			"1 not ready, or no answer"),
		Action: base.Action(env, func(r *base.Reader) base.Runner {
			p := probe{URL: defaultProbe}
			if r.Args().Present() {
				p.URL = r.Arguments("URL")[0]
			}
			address, ok := probeURL(p.URL)
			if !ok {
				r.Failf("the URL is %q: must be such as %s or 127.0.0.1:8080", p.URL, defaultProbe)
			}
			p.URL = address
			p.Session = r.SessionWithoutRedis()
			p.TLS = &tls.Config{RootCAs: r.Access().Authorities, MinVersion: tls.VersionTLS12}
			return p
		}),
	}
}

// probeURL completes an address: host:port is http://host:port, and a URL without a path gets that of the readiness.
func probeURL(text string) (address string, ok bool) {
	short := !strings.Contains(text, "://")
	if short {
		text = "http://" + text
	}
	parsed, err := url.Parse(text)
	switch {
	case err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "":
		return "", false
	case short && (parsed.Hostname() == "" || !target.IsPort(parsed.Port())):
		return "", false
	}
	parsed.Path = cmp.Or(parsed.Path, "/readyz")
	return parsed.String(), true
}

// answer is the result of hilo probe.
type answer struct {
	Ready  bool   `json:"ready"`
	Status int    `json:"status"`
	Answer string `json:"answer"`
}

// Run prints the response. A response that is not ready is in the error, so it is printed only as JSON.
func (p probe) Run(ctx context.Context) error {
	got := p.get(ctx)
	if got.Ready {
		return p.Show(got, func() error { return p.Printf("%s\n", got.Answer) })
	}
	unready := &exit.Error{Code: exit.Failed, Text: fmt.Sprintf("%s is not ready: %s", p.URL, got.Answer)}
	return cmp.Or[error](p.Show(got, func() error { return nil }), unready)
}

func (p probe) get(ctx context.Context) answer {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL, nil)
	if err != nil {
		return answer{Answer: err.Error()}
	}
	client := &http.Client{Timeout: p.Timeout, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: p.TLS}} // no proxy
	response, err := client.Do(request)
	if err != nil {
		return answer{Answer: target.Cause(err, p.Timeout)}
	}
	defer func() { _ = response.Body.Close() }()
	const maxBytes = 200
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBytes))
	if err != nil {
		return answer{Status: response.StatusCode, Answer: target.Cause(err, p.Timeout)}
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(body)), "\n")
	if line == "" || response.StatusCode != http.StatusOK && response.StatusCode != http.StatusServiceUnavailable {
		line = response.Status // the response of another program
	}
	return answer{Ready: response.StatusCode == http.StatusOK, Status: response.StatusCode, Answer: line}
}
