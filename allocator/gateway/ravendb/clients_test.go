package ravendb

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// Names contain a space or a plus, as each client writes them in its requests.
func TestPlusInAQueryIsASpace(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		for _, tt := range []struct{ client, query, want string }{ // want is the collection, or "" for a refusal
			{"Java, a space", "tag=order+lines&lastBatchSize=0&identityPartsSeparator=%2F&lastMax=0", ""},
			{"Java, a plus", "tag=a%2Bb&lastBatchSize=0&identityPartsSeparator=%2F&lastMax=0", "a+b"},
			{"Node.js, a space", "tag=order%20lines&lastBatchSize=0&lastRangeAt=1901-02-01T00%3A00%3A00.0000000&identityPartsSeparator=%2F&lastMax=0", ""},
			{"Node.js, a plus", "tag=a%2Bb&lastBatchSize=0&lastRangeAt=1901-02-01T00%3A00%3A00.0000000&identityPartsSeparator=%2F&lastMax=0", "a+b"},
			{"Python, a space", "tag=order%20lines&lastBatchSize=0&lastRangeAt=&identityPartsSeparator=/&lastMax=0", ""},
			{"Python, a plus", "tag=a+b&lastBatchSize=0&lastRangeAt=&identityPartsSeparator=/&lastMax=0", ""},
			{"Go, a plus", "tag=a+b&lastBatchSize=0&lastRangeAt=&identityPartsSeparator=/&lastMax=0", ""},
		} {
			response := w.send(http.MethodGet, "/databases/Shop/hilo/next?"+tt.query)
			text := body(t, response)
			if tt.want != "" && (response.StatusCode != http.StatusCreated || !strings.HasPrefix(text, `{"Prefix":"`+tt.want+`/"`)) ||
				tt.want == "" && (response.StatusCode != http.StatusBadRequest || !strings.Contains(text, `"Message":"ErrInvalidName: tag: `) || !strings.Contains(text, "white space")) {
				t.Errorf("%s: got %d %s, want %q", tt.client, response.StatusCode, text, tt.want)
			}
		}
		if keys := w.client.Keys(t.Context(), "{Raven}/HiLo/*").Val(); len(keys) != 1 || keys[0] != "{Raven}/HiLo/a+b" {
			t.Errorf("got the counters %q, want a+b alone", keys)
		}
	})
}

// topologyOf is the part of a topology that clients read.
type topologyOf struct {
	Nodes []node
	Etag  int64
}

func (w *wire) topology(h *Handler, name string) (got topologyOf) {
	w.t.Helper()
	response := send(w.t, h, http.MethodGet, "/topology?name="+name)
	text := body(w.t, response)
	if err := json.Unmarshal([]byte(text), &got); err != nil || response.StatusCode != http.StatusOK {
		w.t.Fatalf("got %d %s, %v, want 200 and a topology", response.StatusCode, text, err)
	}
	return got
}

// impatient returns a client that dials once, so that it detects a server that is down at once.
func impatient(t *testing.T, s *redistest.Server) *redis.Client {
	t.Helper()
	options := redistest.Options(s)
	options.MaxRetries, options.DialerRetries = -1, 1
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// A Go client that receives no topology when it starts never recovers.
func TestTopologyOfAMappedDatabaseNeedsNoServer(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		w.client = impatient(t, s)
		known := w.again()
		w.topology(known, "shop")
		unknown := w.again()
		named := w.again(func(o *Options) {
			o.Nodes = []Node{{"C", "http://example.com"}, {"D", "http://other.example"}}
		})
		open := w.again(func(o *Options) { o.Databases = nil })
		s.Kill()
		for _, tt := range []struct {
			name string
			h    *Handler
			want string
		}{
			{"the last known tag", known, "A"},
			{"a tag that ids never show", unknown, "?"},
			{"without the node with this URL", named, "?"},
		} {
			if got := w.topology(tt.h, "Shop"); got.Nodes[0] != (node{"http://example.com", tt.want, "Member", "Shop"}) {
				t.Errorf("%s: got %+v, want tag %s", tt.name, got, tt.want)
			}
		}
		for target, h := range map[string]*Handler{"/topology?name=Mall": unknown, "/topology?name=Shop": open, "/databases/Shop/hilo/next?tag=users": unknown} {
			if got := send(t, h, http.MethodGet, target); got.StatusCode != http.StatusServiceUnavailable {
				t.Errorf("%s: got %s, want 503", target, got.Status)
			}
		}
		s.Restart()
		if err := s.Client(t).HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "NodeTag", "A").Err(); err != nil {
			t.Fatal(err)
		}
		if got := w.topology(unknown, "Shop"); got.Nodes[0].ClusterTag != "A" {
			t.Errorf("after the outage: got %+v, want tag A", got)
		}
	})
}

func TestTopologyNamesTheOtherGateways(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		nodes := []Node{{"B", "http://b.example:8080"}, {"C", "https://c.example"}}
		handler := func(nodes ...Node) *Handler { return w.again(func(o *Options) { o.Nodes = nodes }) }
		both := w.topology(handler(nodes...), "Shop")
		want := []node{
			{"http://example.com", "A", "Member", "Shop"}, {"http://b.example:8080", "B", "Member", "Shop"}, {"https://c.example", "C", "Member", "Shop"},
		}
		if fmt.Sprint(both.Nodes) != fmt.Sprint(want) || both.Etag <= 1 || both.Etag > 1<<53 {
			t.Errorf("got %+v, want %+v", both, want)
		}
		// Clients replace a topology only by one with a greater Etag, and the list changes at a start.
		if got := w.topology(handler(nodes[0]), "Shop"); got.Etag <= both.Etag {
			t.Errorf("got Etag %d after %d, want a greater one", got.Etag, both.Etag)
		}
		if got := w.topology(handler(), "Shop"); got.Etag != 1 {
			t.Errorf("got Etag %d without nodes, want 1", got.Etag)
		}
	})
}

func TestNodesImplyThatReturnsAreIgnored(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s, func(o *Options) { o.Nodes = []Node{{"B", "http://b.example"}} })
		w.next("tag=users")
		w.next("tag=users")
		w.sendReturn(64, 34)
		w.wantMax("64")
	})
}

func TestNewRefusesInvalidNodes(t *testing.T) {
	t.Parallel()
	client := redistest.NewClient(t, redistest.StartMini(t))
	for _, tt := range []struct {
		nodes []Node
		want  string
	}{
		{[]Node{{"", "http://b.example"}}, `tag ""`},
		{[]Node{{"1", "http://b.example"}}, `tag "1"`},
		{[]Node{{"B", "b.example"}}, `tag "B", URL "b.example"`},
		{[]Node{{"B", "http://b.example?x"}}, "must be such as https://"},
	} {
		if _, err := New(Options{Client: client, Nodes: tt.nodes}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: got %v, want %q", tt.nodes, err, tt.want)
		}
	}
}

// Java sends a request for an identity to every node, with one id.
func TestIdentityNextOfAClientThatContactsAllNodesRepeatsNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		gateways := []*Handler{w.again(), w.again(), w.again()}
		seen := make(map[int64]int)
		for i := range 20 {
			target := fmt.Sprintf("/databases/Shop/identity/next?name=companies%%7C&raft-request-id=%d", i)
			for _, h := range gateways { // and one twice, for a lost reply
				for range 2 {
					var got struct{ NewIdentityValue int64 }
					if err := json.Unmarshal([]byte(body(t, send(t, h, http.MethodPost, target))), &got); err != nil {
						t.Fatal(err)
					}
					seen[got.NewIdentityValue]++
				}
			}
		}
		for value, times := range seen {
			if times != 2 {
				t.Errorf("got %d issued to %d requests, want 2, one and its repetition", value, times)
			}
		}
		if len(seen) != 60 {
			t.Errorf("got %d values, want 60, one for each request at each gateway", len(seen))
		}
	})
}

// Some clients count on past the end of a range, and past int64.
func TestNextEndsBelowWhatClientsCanCount(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		const end = int64(math.MaxInt64) - 1048576
		w.set("{Raven}/HiLo/users", "Max", end-40)
		for _, want := range [][2]int64{{end - 39, end - 8}, {end - 7, end}} {
			if got := w.next("tag=users"); got.Low != want[0] || got.High != want[1] {
				t.Errorf("got %+v, want %d", got, want)
			}
		}
		got := w.send(http.MethodGet, "/databases/Shop/hilo/next?tag=users&lastBatchSize=1048576")
		if text := body(t, got); got.StatusCode != http.StatusInternalServerError || !strings.Contains(text, `"Message":"ErrExhausted: `) {
			t.Errorf("got %s %s, want ErrExhausted", got.Status, text)
		}
	})
}

func TestMessagesBeginWithTheNameOfTheError(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := impatient(t, s)
		w := newWire(t, s, func(o *Options) {
			o.Client = client
			o.Databases["Mall"], o.Databases["Fair"] = "mall", "fair"
		})
		w.set("{fair}/ServerPrefixForHilo", "NodeTag", "F", "NewCounters", "no")
		w.set("{fair}/HiLo/orders", "Max", "x")
		w.set("{fair}/HiLo/full", "Max", int64(math.MaxInt64))
		for request, want := range map[string]string{
			"GET /databases/Mall/hilo/next?tag=orders":               "ErrPrefixMissing",
			"GET /databases/Fair/hilo/next?tag=orders":               "ErrCorrupt",
			"GET /databases/Fair/hilo/next?tag=users":                "ErrNotSeeded",
			"GET /databases/Fair/hilo/next?tag=full":                 "ErrExhausted",
			"POST /databases/Fair/identity/next?name=a":              "ErrIdentitiesElsewhere",
			"GET /databases/Fair/hilo/next?tag=a/b":                  "ErrInvalidName",
			"GET /databases/Fa%7Bir/hilo/next?tag=a":                 "ErrInvalidName",
			"GET /databases/Fair/hilo/next?tag=a&lastMax=x":          "ErrInvalidOptions",
			"PUT /databases/Fair/hilo/return?tag=users&end=1&last=x": "ErrInvalidOptions",
		} {
			method, target, _ := strings.Cut(request, " ")
			if text := body(t, w.send(method, target)); !strings.Contains(text, `"Message":"`+want+": ") {
				t.Errorf("%s: got %s, want %s", request, text, want)
			}
		}
		s.Kill()
		for _, target := range []string{
			"/databases/Fair/hilo/next?tag=orders", "/databases/Shop/stats", "/databases/Shop/healthcheck", "/databases/Shop/debug/identities", "/cluster/node-info",
		} {
			response := w.send(http.MethodGet, target)
			text := body(t, response)
			if response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "" || !strings.Contains(text, `"Message":"ErrUnavailable: `) {
				t.Errorf("%s: got %d %s, want 503 and ErrUnavailable", target, response.StatusCode, text)
			}
		}
	})
}
