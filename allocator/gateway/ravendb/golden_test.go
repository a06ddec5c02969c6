package ravendb

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// transcripts are the requests of each client, word for word. They are its first request for a range, the next one, and the
// return at its end, which is not taken, for its name is not plain. %s is the time of the last reply, in the format of the client.
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
		"PUT /databases/Shop/hilo/return?tag=Gr\xf6\xdfen&end=96&last=35",
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

func TestHandlerServesEachClient(t *testing.T) {
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
						t.Errorf("%s: got %d %s, want %d %s", line, response.StatusCode, text, status, want)
					}
					return response.Header
				}
				const at = `"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z"`
				header := exchange(client.first, 201, `\{"Prefix":"Größen/","Low":1,"High":32,"LastSize":32,"ServerTag":"A","LastRangeAt":`+at+`\}`)
				if header.Get("Cache-Control") != "no-store" || header.Get("Etag") != "" || header.Get("Content-Type") != "application/json; charset=utf-8" {
					t.Errorf("got header %v, want JSON with no-store and no Etag", header)
				}
				second := strings.ReplaceAll(client.second, "lastRangeAt=%s", "lastRangeAt="+client.at(time.Now()))
				exchange(second, 201, `\{"Prefix":"Größen/","Low":33,"High":96,"LastSize":64,"ServerTag":"A","LastRangeAt":`+at+`\}`)
				if client.client == "Java" {
					exchange(client.back, 400, ".*not valid UTF-8.*")
				} else {
					exchange(client.back, 204, "")
				}
				if max := w.get("{Raven}/HiLo/größen", "Max"); max != "96" {
					t.Errorf("%d: got Max %s, want 96", i, max)
				}
			})
		}
	})
}

func TestHandlerServesTopologyAndHealth(t *testing.T) {
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
				t.Errorf("%s: got %d %s, want 501, only ids are served here", target, response.StatusCode, text)
			}
		}
	})
}

func TestHandlerIgnoresTheCaseOfDatabases(t *testing.T) {
	t.Parallel()
	w := newWire(t, redistest.StartMini(t), func(o *Options) { o.Databases = nil })
	w.set("{mall}/ServerPrefixForHilo", "NodeTag", "B")
	w.answers("GET", "/topology?name=Mall", 200, `{"Nodes":[{"Url":"http://example.com","ClusterTag":"B","ServerRole":"Member","Database":"Mall"}],"Etag":1}`)
	w.send("GET", "/databases/Mall/hilo/next?tag=users")
	w.send("GET", "/databases/mall/hilo/next?tag=users")
	if max := w.get("{mall}/HiLo/users", "Max"); max != "64" {
		t.Errorf("got Max %s, want 64", max)
	}
}

func TestHandlerRefusesUnmappedDatabases(t *testing.T) {
	t.Parallel()
	w := newWire(t, redistest.StartMini(t))
	for _, target := range []string{"/topology?name=Mall", "/databases/Mall/hilo/next?tag=a", "/databases/Mall/stats"} {
		response := w.send("GET", target)
		if text := body(t, response); response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Database-Missing") != "Mall" ||
			!strings.Contains(text, `"Type":"Error"`) || response.Header.Get("Retry-After") != "" {
			t.Errorf("%s: got %d %v %s, want 503 with Database-Missing, without Retry-After", target, response.StatusCode, response.Header, text)
		}
	}
}

func TestNextIsRefusedWithoutANodeTag(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s)
		if err := w.client.HDel(t.Context(), "{Raven}/ServerPrefixForHilo", "NodeTag").Err(); err != nil {
			t.Fatal(err)
		}
		for _, target := range []string{"GET /topology?name=Shop", "GET /databases/Shop/hilo/next?tag=users"} {
			method, path, _ := strings.Cut(target, " ")
			response := w.send(method, path)
			if text := body(t, response); response.StatusCode != http.StatusInternalServerError || !strings.Contains(text, "hilo settings set --tag A --namespace Raven") {
				t.Errorf("%s: got %d %s, want 500 and the command that sets a tag", target, response.StatusCode, text)
			}
		}
		if n := w.client.Exists(t.Context(), "{Raven}/HiLo/users").Val(); n != 0 {
			t.Errorf("got %d counters of users, want none", n)
		}
		if err := Check(t.Context(), w.opts); err == nil || !strings.Contains(err.Error(), "hilo settings set --tag A") {
			t.Errorf("Check: got %v, want an error with hilo settings set --tag A", err)
		}
	})
}

func TestErrorsHaveTheFormOfRavenDB(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := newWire(t, s, func(o *Options) { o.Allocator.Limit = 1 << 40 })
		w.set("{Raven}/HiLo/full", "Max", int64(1<<40))
		w.set("{Raven}/HiLo/broken", "Max", "x")
		w.set("{Raven}/HiLo/users", "Max", 64)
		before := w.client.DBSize(t.Context()).Val()
		const next = "GET /databases/Shop/hilo/next?"
		for _, tt := range []struct {
			request string
			status  int
			kind    string
			message string
		}{
			{next, 400, "System.ArgumentException", "tag is missing"},
			{next + "tag=", 400, "System.ArgumentException", "tag is missing"},
			{next + "tag=a/b", 400, "System.ArgumentException", "holds the separator"},
			{next + "tag=a+b", 400, "System.ArgumentException", "white space"},
			{next + "tag=a%20b", 400, "System.ArgumentException", "white space"},
			{next + "tag=orders%E2%80%8B", 400, "System.ArgumentException", "U+200B, a format character"},
			{next + "tag=cafe%CC%81", 400, "System.ArgumentException", "U+0065 U+0301 where NFC has U+00E9"},
			{"PUT /databases/Shop/hilo/return?tag=orders%E2%80%8B&end=2&last=1", 400, "System.ArgumentException", "U+200B, a format character"},
			{"GET /databases/Shop%E2%80%8B/hilo/next?tag=users", 400, "System.ArgumentException", "U+200B, a format character"},
			{next + "tag=%zz", 400, "System.ArgumentException", "percent sign"},
			{next + "tag=users&tag=users", 400, "System.ArgumentException", "twice"},
			{next + "tag=users&lastBatchSize=-1", 400, "System.ArgumentException", "lastBatchSize"},
			{next + "tag=users&lastBatchSize=1e3", 400, "System.ArgumentException", "lastBatchSize"},
			{next + "tag=users&lastMax=-1", 400, "System.ArgumentException", "lastMax"},
			{next + "tag=users&lastMax=9223372036854775808", 400, "System.ArgumentException", "lastMax"},
			{next + "tag=users&identityPartsSeparator=:", 400, "System.ArgumentException", "identityPartsSeparator"},
			{"PUT /databases/Shop/hilo/return?tag=users&end=x&last=1", 400, "System.ArgumentException", "end"},
			{"PUT /databases/Shop/hilo/return?tag=users&end=1", 400, "System.ArgumentException", "last is missing"},
			{"POST /databases/Shop/identity/seed?name=companies&suppliers|&value=1&force=true", 400, "System.ArgumentException", "unknown parameter \\\"suppliers|\\\""},
			{"POST /databases/Shop/identity/next", 400, "System.ArgumentException", "name is missing"},
			{"POST /databases/Shop/identity/next?name=|", 400, "System.ArgumentException", "empty"},
			{"POST /databases/Shop/identity/seed?name=a|&value=-1", 400, "System.ArgumentException", "value"},
			{"POST /databases/Shop/identity/seed?name=a|&value=1&force=perhaps", 400, "System.ArgumentException", "force"},
			{"GET /databases/Shop/debug/identities?start=x", 400, "System.ArgumentException", "start"},
			{"GET /topology", 400, "System.ArgumentException", "name is missing"},
			{"GET /databases/%7Bx%7D/hilo/next?tag=users", 400, "System.ArgumentException", "namespace"},
			{next + "tag=full", 500, "System.InvalidOperationException", "ErrExhausted: full: exhausted"},
			{next + "tag=broken", 500, "System.InvalidOperationException", "ErrCorrupt: broken: corrupt"},
		} {
			method, target, _ := strings.Cut(tt.request, " ")
			response := w.send(method, target)
			text := body(t, response)
			if response.StatusCode != tt.status || !strings.Contains(text, `"Type":"`+tt.kind+`"`) || !strings.Contains(text, tt.message) ||
				!strings.HasPrefix(text, `{"Url":"/`) || !strings.Contains(text, `"Error":"`+tt.kind) {
				t.Errorf("%s: got %d %s, want %d %s %q", tt.request, response.StatusCode, text, tt.status, tt.kind, tt.message)
			}
		}
		if after := w.client.DBSize(t.Context()).Val(); after != before {
			t.Errorf("got %d keys, want %d as before", after, before)
		}
		if max := w.get("{Raven}/HiLo/users", "Max"); max != "64" {
			t.Errorf("got Max %s, want 64", max)
		}
		if got := w.next("tag=users&lastMax=9223372036854775807"); got.Low != 65 {
			t.Errorf("got %+v, want Low 65, since lastMax raises nothing", got)
		}
	})
}
