package ravendb

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// What each client sends, word for word: its first request for a range, the one
// after it, and the return at its end. %s is the time that the reply told it, as
// it writes times.
var transcripts = []struct {
	client              string
	first, second, back string
	at                  func(time.Time) string
}{
	{
		"Go",
		"GET /databases/shop/hilo/next?tag=Größen&lastBatchSize=0&lastRangeAt=&identityPartsSeparator=/&lastMax=0",
		"GET /databases/shop/hilo/next?tag=Größen&lastBatchSize=32&lastRangeAt=%s&identityPartsSeparator=/&lastMax=32",
		"PUT /databases/shop/hilo/return?tag=Größen&end=96&last=35",
		func(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.9999999Z") },
	},
	{
		"Java",
		"GET /databases/Shop/hilo/next?tag=Gr%C3%B6%C3%9Fen&lastBatchSize=0&identityPartsSeparator=%2F&lastMax=0",
		"GET /databases/Shop/hilo/next?tag=Gr%C3%B6%C3%9Fen&lastBatchSize=32&lastRangeAt=%s&identityPartsSeparator=%2F&lastMax=32",
		"PUT /databases/Shop/hilo/return?tag=Größen&end=96&last=35",
		func(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000") + "0000Z" },
	},
	{
		"Python",
		"GET /databases/Shop/hilo/next?tag=Gr%C3%B6%C3%9Fen&lastBatchSize=0&lastRangeAt=&identityPartsSeparator=/&lastMax=0",
		"GET /databases/Shop/hilo/next?tag=Gr%C3%B6%C3%9Fen&lastBatchSize=32&lastRangeAt=%s&identityPartsSeparator=/&lastMax=32",
		"PUT /databases/Shop/hilo/return?tag=Gr%C3%B6%C3%9Fen&end=96&last=35",
		func(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000") + "0" },
	},
	{
		"Node.js",
		"GET /databases/Shop/hilo/next?tag=Gr%C3%B6%C3%9Fen&lastBatchSize=0&lastRangeAt=1901-02-01T00%3A00%3A00.0000000&identityPartsSeparator=%2F&lastMax=0",
		"GET /databases/Shop/hilo/next?tag=Gr%C3%B6%C3%9Fen&lastBatchSize=32&lastRangeAt=%s&identityPartsSeparator=%2F&lastMax=32",
		"PUT /databases/Shop/hilo/return?tag=Gr%C3%B6%C3%9Fen&end=96&last=35",
		func(t time.Time) string { // of where it runs
			return strings.ReplaceAll(t.In(time.FixedZone("", -5*3600)).Format("2006-01-02T15:04:05.000")+"0000", ":", "%3A")
		},
	},
	{
		"C#",
		"GET /databases/Shop/hilo/next?tag=Gr%C3%B6%C3%9Fen&lastBatchSize=0&lastRangeAt=0001-01-01T00:00:00.0000000Z&identityPartsSeparator=%2F&lastMax=0",
		"GET /databases/Shop/hilo/next?tag=Gr%C3%B6%C3%9Fen&lastBatchSize=32&lastRangeAt=%s&identityPartsSeparator=%2F&lastMax=32",
		"PUT /databases/Shop/hilo/return?tag=Gr%C3%B6%C3%9Fen&end=96&last=35",
		func(t time.Time) string { return t.UTC().Format(wireTime) },
	},
}

func TestEachClientIsAnsweredAsItAsks(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		for i, client := range transcripts {
			t.Run(client.client, func(t *testing.T) {
				w := newWire(t, s)
				if err := w.client.Del(t.Context(), "{Raven}/HiLo/größen").Err(); err != nil {
					t.Fatal(err)
				}
				exchange := func(line string, status int, want string) http.Header {
					t.Helper()
					method, target, _ := strings.Cut(line, " ")
					response := w.send(method, target)
					text := body(t, response)
					if response.StatusCode != status || !regexp.MustCompile("^"+want+"$").MatchString(text) {
						t.Errorf("%s\n%d %s\nwant %d %s", line, response.StatusCode, text, status, want)
					}
					return response.Header
				}
				const at = `"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z"`
				header := exchange(client.first, 201, `\{"Prefix":"Größen/","Low":1,"High":32,"LastSize":32,"ServerTag":"A","LastRangeAt":`+at+`\}`)
				if header.Get("Cache-Control") != "no-store" || header.Get("Etag") != "" || header.Get("Content-Type") != "application/json; charset=utf-8" {
					t.Errorf("%v", header)
				}
				second := strings.ReplaceAll(client.second, "lastRangeAt=%s", "lastRangeAt="+client.at(time.Now()))
				exchange(second, 201, `\{"Prefix":"Größen/","Low":33,"High":96,"LastSize":64,"ServerTag":"A","LastRangeAt":`+at+`\}`)
				exchange(client.back, 204, "")
				if max := w.get("{Raven}/HiLo/größen", "Max"); max != "35" {
					t.Errorf("%d: Max is %s", i, max)
				}
			})
		}
	})
}

func TestWhatElseClientsAskFor(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		w.answers("GET", "/topology?name=shop", 200, `{"Nodes":[{"Url":"http://example.com","ClusterTag":"A","ServerRole":"Member","Database":"shop"}],"Etag":1}`)
		w.answers("GET", "/cluster/node-info", 200, `{"NodeTag":"A","ServerRole":"Member"}`)
		w.answers("GET", "/databases/Shop/stats", 200, `{}`)
		w.answers("GET", "/databases/Shop/healthcheck", 204, "")
		w.Handler = w.again(func(o *Options) { o.PublicURL = "https://ids.example.org" })
		w.answers("GET", "/topology?name=SHOP", 200, `{"Nodes":[{"Url":"https://ids.example.org","ClusterTag":"A","ServerRole":"Member","Database":"SHOP"}],"Etag":1}`)
		for _, target := range []string{"GET /databases/Shop/docs?id=users%2F1-A", "POST /databases/Shop/bulk_docs", "GET /build/version", "PUT /databases/Shop/hilo/next?tag=a", "POST /admin/databases"} {
			method, path, _ := strings.Cut(target, " ")
			response := w.send(method, path)
			if text := body(t, response); response.StatusCode != http.StatusNotImplemented || !strings.Contains(text, `"Message":"only ids are served here"`) {
				t.Errorf("%s: %d %s", target, response.StatusCode, text)
			}
		}
	})
}

func TestADatabaseIsAskedForInAnyLetterCase(t *testing.T) {
	t.Parallel()
	w := newWire(t, redistest.StartMini(t), func(o *Options) { o.Databases = nil })
	w.set("{mall}/ServerPrefixForHilo", "NodeTag", "B")
	w.answers("GET", "/topology?name=Mall", 200, `{"Nodes":[{"Url":"http://example.com","ClusterTag":"B","ServerRole":"Member","Database":"Mall"}],"Etag":1}`)
	w.send("GET", "/databases/Mall/hilo/next?tag=users")
	w.send("GET", "/databases/mall/hilo/next?tag=users")
	if max := w.get("{mall}/HiLo/users", "Max"); max != "64" {
		t.Errorf("Max is %s", max)
	}
}

func TestADatabaseThatIsNotMappedIsMissing(t *testing.T) {
	t.Parallel()
	w := newWire(t, redistest.StartMini(t))
	for _, target := range []string{"/topology?name=Mall", "/databases/Mall/hilo/next?tag=a", "/databases/Mall/stats"} {
		response := w.send("GET", target)
		if text := body(t, response); response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Database-Missing") != "Mall" ||
			!strings.Contains(text, `"Type":"Error"`) || response.Header.Get("Retry-After") != "" {
			t.Errorf("%s: %d %v %s", target, response.StatusCode, response.Header, text)
		}
	}
}

func TestNothingIsGivenWithoutANodeTag(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		if err := w.client.HDel(t.Context(), "{Raven}/ServerPrefixForHilo", "NodeTag").Err(); err != nil {
			t.Fatal(err)
		}
		for _, target := range []string{"GET /topology?name=Shop", "GET /databases/Shop/hilo/next?tag=users"} {
			method, path, _ := strings.Cut(target, " ")
			response := w.send(method, path)
			if text := body(t, response); response.StatusCode != http.StatusInternalServerError || !strings.Contains(text, "hilo prefix set --tag A --namespace Raven") {
				t.Errorf("%s: %d %s", target, response.StatusCode, text)
			}
		}
		if n := w.client.Exists(t.Context(), "{Raven}/HiLo/users").Val(); n != 0 {
			t.Error("a counter was made")
		}
		if err := Check(t.Context(), w.opts); err == nil || !strings.Contains(err.Error(), "hilo prefix set --tag A") {
			t.Error(err)
		}
	})
}

func TestErrorsAreAsClientsReadThem(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s, func(o *Options) { o.Limit = 1 << 40 })
		w.set("{Raven}/HiLo/full", "Max", 1<<40)
		w.set("{Raven}/HiLo/broken", "Max", "x")
		w.set("{Raven}/HiLo/users", "Max", 64)
		before := w.client.DBSize(t.Context()).Val()
		next, far := "GET /databases/Shop/hilo/next?", fmt.Sprint(64+1<<31)
		for _, tt := range []struct {
			request string
			status  int
			kind    string
			message string
		}{
			{next, 400, "System.ArgumentException", "tag is missing"},
			{next + "tag=", 400, "System.ArgumentException", "tag is missing"},
			{next + "tag=a/b", 400, "System.ArgumentException", "holds the separator"},
			{next + "tag=a%20b", 400, "System.ArgumentException", "white space"},
			{next + "tag=%zz", 400, "System.ArgumentException", "percent sign"},
			{next + "tag=users&tag=users", 400, "System.ArgumentException", "twice"},
			{next + "tag=users&lastBatchSize=-1", 400, "System.ArgumentException", "lastBatchSize"},
			{next + "tag=users&lastBatchSize=1e3", 400, "System.ArgumentException", "lastBatchSize"},
			{next + "tag=users&lastMax=-1", 400, "System.ArgumentException", "lastMax"},
			{next + "tag=users&lastMax=9223372036854775808", 400, "System.ArgumentException", "lastMax"},
			{next + "tag=users&lastMax=9223372036854775807", 400, "System.ArgumentException", "stands at 64"},
			{next + "tag=users&lastMax=" + far, 400, "System.ArgumentException", "stands at 64"},
			{next + "tag=none&lastMax=2147483648", 400, "System.ArgumentException", "stands at 0"},
			{next + "tag=users&identityPartsSeparator=:", 400, "System.ArgumentException", "identityPartsSeparator"},
			{"PUT /databases/Shop/hilo/return?tag=users&end=x&last=1", 400, "System.ArgumentException", "end"},
			{"PUT /databases/Shop/hilo/return?tag=users&end=1", 400, "System.ArgumentException", "last is missing"},
			{"POST /databases/Shop/identity/next", 400, "System.ArgumentException", "name is missing"},
			{"POST /databases/Shop/identity/next?name=|", 400, "System.ArgumentException", "empty"},
			{"POST /databases/Shop/identity/seed?name=a|&value=-1", 400, "System.ArgumentException", "value"},
			{"POST /databases/Shop/identity/seed?name=a|&value=1&force=perhaps", 400, "System.ArgumentException", "force"},
			{"GET /databases/Shop/debug/identities?start=x", 400, "System.ArgumentException", "start"},
			{"GET /topology", 400, "System.ArgumentException", "name is missing"},
			{"GET /databases/%7Bx%7D/hilo/next?tag=users", 400, "System.ArgumentException", "namespace"},
			{next + "tag=full", 500, "System.InvalidOperationException", "ErrExhausted: exhausted"},
			{next + "tag=broken", 500, "System.InvalidOperationException", "ErrCorrupt: corrupt"},
		} {
			method, target, _ := strings.Cut(tt.request, " ")
			response := w.send(method, target)
			text := body(t, response)
			if response.StatusCode != tt.status || !strings.Contains(text, `"Type":"`+tt.kind+`"`) || !strings.Contains(text, tt.message) ||
				!strings.HasPrefix(text, `{"Url":"/`) || !strings.Contains(text, `"Error":"`+tt.kind) {
				t.Errorf("%s: %d %s\nwant %d %s", tt.request, response.StatusCode, text, tt.status, tt.message)
			}
		}
		if after := w.client.DBSize(t.Context()).Val(); after != before {
			t.Errorf("%d keys, were %d", after, before)
		}
		if max := w.get("{Raven}/HiLo/users", "Max"); max != "64" {
			t.Errorf("Max is %s", max)
		}
		if got := w.next("tag=users&lastMax=" + fmt.Sprint(63+1<<31)); got.Low <= 63+1<<31 {
			t.Errorf("%+v", got)
		}
	})
}

func TestIdentitiesThatAreElsewhereAreRefused(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		if err := w.client.HDel(t.Context(), "{Raven}/ServerPrefixForHilo", "Identities").Err(); err != nil {
			t.Fatal(err)
		}
		response := w.send("POST", "/databases/Shop/identity/next?name=companies|")
		if text := body(t, response); response.StatusCode != http.StatusInternalServerError || !strings.Contains(text, "ErrIdentitiesElsewhere: ") {
			t.Errorf("%d %s", response.StatusCode, text)
		}
	})
}

func TestARequestWithAnIdOfItsOwnActsOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		next := "/databases/Shop/identity/next?name=companies%7C&raft-request-id="
		w.answers("POST", next+"one", 200, `{"NewIdentityValue":1}`)
		w.answers("POST", next+"one", 200, `{"NewIdentityValue":1}`)
		w.answers("POST", next+"two", 200, `{"NewIdentityValue":2}`)
		w.answers("POST", strings.Replace(next, "companies", "users", 1)+"one", 200, `{"NewIdentityValue":1}`)
		seed := "/databases/Shop/identity/seed?name=companies%7C&value=1&force=true&raft-request-id=three"
		w.answers("POST", seed, 200, `{"NewSeedValue":1}`)
		w.answers("POST", next+"four", 200, `{"NewIdentityValue":2}`)
		w.answers("POST", seed, 200, `{"NewSeedValue":1}`)
		w.answers("POST", next+"five", 200, `{"NewIdentityValue":3}`)
		w.answers("POST", next+strings.Repeat("x", 129), 400, body(t, w.send("POST", next+strings.Repeat("x", 129))))
	})
}

// A seed that a failover takes back would have the values given that it is to be above.
func TestASeedIsConfirmedAsRangesAre(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		w.Handler = w.again(func(o *Options) { o.Durability = allocator.Durability{Replicas: 1, Timeout: time.Millisecond} })
		for _, request := range []string{"seed?name=companies&value=7", "seed?name=companies&value=3&force=true", "next?name=companies"} {
			if got := w.send("POST", "/databases/Shop/identity/"+request); got.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body(t, got), "ErrNotDurable") {
				t.Errorf("%s: %s", request, got.Status)
			}
		}
	})
}

// lossy loses the replies to scripts while lost is set.
type lossy struct {
	redis.UniversalClient
	lost bool
}

func (l *lossy) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	cmd := l.UniversalClient.EvalSha(ctx, sha, keys, args...)
	if l.lost && cmd.Err() == nil {
		cmd.SetErr(io.ErrUnexpectedEOF)
	}
	return cmd
}

// A forced seed that failed may have acted all the same. Sent again it expects what it found the first time, and not what
// was given since.
func TestAForcedSeedWhoseReplyIsLostActsOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		client := &lossy{UniversalClient: w.client}
		w.Handler = w.again(func(o *Options) { o.Client = client })
		next := func(want int64) {
			t.Helper()
			w.answers("POST", "/databases/Shop/identity/next?name=companies", 200, fmt.Sprintf(`{"NewIdentityValue":%d}`, want))
		}
		const seed = "/databases/Shop/identity/seed?name=companies&value="
		w.answers("POST", seed+"5000", 200, `{"NewSeedValue":5000}`)
		next(5001)
		loses := func(request string) {
			t.Helper()
			client.lost = true
			if got := w.send("POST", request); got.StatusCode != http.StatusServiceUnavailable {
				t.Error(got.Status)
			}
			client.lost = false
		}
		forced := seed + "1000&force=true&raft-request-id=one" // nobody is given any in between
		loses(forced)
		w.answers("POST", forced, 200, `{"NewSeedValue":1000}`)
		next(1001)
		w.answers("POST", forced, 200, `{"NewSeedValue":1000}`)

		forced = seed + "500&force=true&raft-request-id=two"
		loses(forced)
		next(501)
		for range 2 {
			if got := w.send("POST", forced); got.StatusCode != http.StatusInternalServerError || !strings.Contains(body(t, got), "was expected") {
				t.Error(got.Status)
			}
		}
		next(502)
	})
}

func TestRequestsWithOneIdAtOnceShareTheAnswer(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		seen := together(20, func() []int64 {
			w.answers("POST", "/databases/Shop/identity/next?name=companies%7C&raft-request-id=one", 200, `{"NewIdentityValue":1}`)
			return nil
		})
		if value := w.get("{Raven}/Identities/companies", "Value"); value != "1" || len(seen) != 0 {
			t.Errorf("Value is %s", value)
		}
	})
}
