package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestServeNamesOtherGatewaysInTheTopology(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.Must(t, "settings", "set", "--tag", "A", "--redis", s.URL())
		first, client := startServe(t, "--redis", s.URL(), "--database", "Shop=Raven"), newHTTPClient(t)
		second := startServe(t, "--redis", s.URL(), "--database", "Shop=Raven", "--node", "A="+first.url+"/", "--node", "C=https://c.example")
		status, body := sendRequest(t, client, "GET", second.url+"/topology?name=Shop")
		var got struct {
			Nodes []struct{ Url, ClusterTag string }
			Etag  int64
		}
		if err := json.Unmarshal([]byte(body), &got); err != nil || status != 200 || len(got.Nodes) != 3 || got.Etag <= 1 ||
			got.Nodes[0].Url != second.url || got.Nodes[1].Url != first.url || got.Nodes[2].ClusterTag != "C" {
			t.Errorf("%d %s", status, body)
		}
		sendRequest(t, client, "GET", second.url+"/databases/Shop/hilo/next?tag=users")
		sendRequest(t, client, "PUT", second.url+"/databases/Shop/hilo/return?tag=users&end=32&last=2")
		if max := s.Client(t).HGet(t.Context(), "{Raven}/HiLo/users", "Max").Val(); max != "32" {
			t.Errorf("Max is %s: a return was accepted beside --node", max)
		}
	})
}

// A Go client that receives no topology at its start never recovers.
func TestServeAnswersTopologyWithoutItsServer(t *testing.T) {
	t.Parallel()
	s := redistest.StartMini(t)
	s.Kill()
	r := startServe(t, "--redis", s.URL(), "--database", "Shop=Raven", "--timeout", "1s")
	if status, body := sendRequest(t, newHTTPClient(t), "GET", r.url+"/topology?name=Shop"); status != 200 || !strings.Contains(body, `"Url":"`+r.url+`","ClusterTag":"?"`) {
		t.Errorf("%d %s", status, body)
	}
}

func TestServeIssuesNothingAboveTheLimit(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.Must(t, "settings", "set", "--tag", "A", "--redis", s.URL())
		r, client := startServe(t, "--redis", s.URL(), "--database", "Shop=Raven", "--limit", "40"), newHTTPClient(t)
		if status, body := sendRequest(t, client, "GET", r.url+"/databases/Shop/hilo/next?tag=users&lastBatchSize=64"); status != 201 || !strings.Contains(body, `"High":40,`) {
			t.Errorf("RavenDB's half: %d %s", status, body)
		}
		if status, body := sendRequest(t, client, "POST", r.url+"/v1/ids/orders?count=40"); status != 200 {
			t.Errorf("the plain API: %d %s", status, body)
		}
		for _, above := range []struct {
			method, target string
			want           int
		}{{"GET", "/databases/Shop/hilo/next?tag=users", 500}, {"POST", "/v1/ids/orders", 422}} {
			if status, body := sendRequest(t, client, above.method, r.url+above.target); status != above.want || !strings.Contains(body, "ErrExhausted") {
				t.Errorf("%s above the limit: %d %s", above.target, status, body)
			}
		}
	})
}

func TestServeWarnsOfNumbersThatClientsRound(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.Must(t, "settings", "set", "--tag", "A", "--redis", s.URL())
		clitest.Must(t, "seed", "small", "--max", "9007199254740991", "--redis", s.URL())
		quiet := startServe(t, "--redis", s.URL(), "--database", "Shop=Raven", "--limit", "9007199254740991")
		quiet.stop()
		if got := quiet.stderr.String(); got != "" {
			t.Errorf("got %q at 2^53-1, want no warning", got)
		}
		clitest.Must(t, "seed", "large", "--max", "9007199254740992", "--redis", s.URL())
		r := startServe(t, "--redis", s.URL(), "--database", "Shop=Raven", "--limit", "9007199254740992")
		r.stderr.Await(t, "the limit is above 2^53-1")
		r.stderr.Await(t, "a counter is above 2^53-1")
		if got := r.stderr.String(); !strings.Contains(got, "large") || strings.Contains(got, "small") {
			t.Errorf("got %q, want large alone", got)
		}
	})
}

func TestServeRefusesBadFlagsForRavenDB(t *testing.T) {
	t.Parallel()
	node := func(more ...string) []string { return append([]string{"--node", "B=https://b.example"}, more...) }
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"a node without a tag", []string{"--node", "https://b.example"}, `--node is "https://b.example"`},
		{"an empty tag", []string{"--node", "=https://b.example"}, "a tag and a URL of its own"},
		{"an invalid tag", []string{"--node", "1=https://b.example"}, "1"},
		{"an invalid URL", []string{"--node", "B=b.example"}, "must be such as https://"},
		{"a node twice", node("--node", "C=https://b.example/"), "a URL of its own"},
		{"returns beside nodes", node("--accept-returns"), "--accept-returns is true beside --node"},
		{"a limit of 0", []string{"--limit", "0"}, "must be 1 or more"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			clitest.MustFail(t, exit.Usage, clitest.Hilo(t, append([]string{"serve", "--redis", "embedded:"}, tt.args...)...), tt.want)
		})
	}
}
