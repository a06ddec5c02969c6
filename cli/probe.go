package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/urfave/cli/v2"
)

const defaultProbe = "http://127.0.0.1:9090/readyz"

// probe asks a worker how it is, for containers that hold nothing else to ask with.
type probe struct {
	globals
	URL string
}

func newProbeCommand(env Env) *cli.Command {
	return command(&cli.Command{
		Name:      "probe",
		Usage:     "ask a worker whether it is ready, as a container's health check",
		UsageText: "hilo probe [URL]",
		Description: describe(`
Asks URL, `+defaultProbe+` if none is given, and shows the answer.
It is done when the answer is 200, and waits --timeout at most.

--output json: ready, status (0: no answer) and answer.`,
			[]string{"hilo probe", "hilo probe http://127.0.0.1:9090/healthz --timeout 1s"},
			"1 not ready, or no answer"),
		Action: func(c *cli.Context) error {
			p, err := readProbe(c, env)
			if err != nil {
				return err
			}
			return p.Run(c.Context)
		},
	})
}

func readProbe(c *cli.Context, env Env) (probe, error) {
	p := probe{URL: defaultProbe}
	switch given := c.Args().Slice(); len(given) {
	case 0:
	case 1:
		p.URL = given[0]
	default:
		return p, usagef("%s takes one URL: %q is one too many", c.Command.HelpName, given[1])
	}
	if parsed, err := url.Parse(p.URL); err != nil || parsed.Scheme != "http" || parsed.Host == "" {
		return p, usagef("the URL is %q: must be such as %s", p.URL, defaultProbe)
	}
	var err error
	p.globals, err = readServerless(c, env)
	return p, err
}

// answer is what --output json shows.
type answer struct {
	Ready  bool   `json:"ready"`
	Status int    `json:"status"`
	Answer string `json:"answer"`
}

func (p probe) Run(ctx context.Context) error {
	got := p.ask(ctx)
	if p.JSON {
		if err := p.writeJSON(got); err != nil {
			return err
		}
	}
	if !got.Ready {
		return &failure{code: exitFailed, text: fmt.Sprintf("%s is not ready: %s", p.URL, got.Answer)}
	}
	if p.JSON {
		return nil
	}
	return p.printf("%s\n", got.Answer)
}

func (p probe) ask(ctx context.Context) answer {
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL, nil)
	if err != nil {
		return answer{Answer: err.Error()}
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // by no proxy
	response, err := client.Do(request)
	if err != nil {
		return answer{Answer: cause(err, p.Timeout)}
	}
	defer func() { _ = response.Body.Close() }()
	const most = 200 // of its answer
	body, err := io.ReadAll(io.LimitReader(response.Body, most))
	if err != nil {
		return answer{Status: response.StatusCode, Answer: cause(err, p.Timeout)}
	}
	said, _, _ := strings.Cut(strings.TrimSpace(string(body)), "\n")
	return answer{Ready: response.StatusCode == http.StatusOK, Status: response.StatusCode, Answer: said}
}
