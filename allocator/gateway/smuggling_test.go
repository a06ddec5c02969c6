package gateway_test

import (
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/gateway"
)

// A request inside what a proxy may regard as the body of another one is not served.
func TestServerSmugglesNoRequest(t *testing.T) {
	t.Parallel()
	const (
		smuggled = "POST /v1/ids/smuggled HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
		post     = "POST /v1/ids/orders HTTP/1.1\r\nHost: x\r\n"
		get      = "GET /healthz HTTP/1.1\r\nHost: x\r\n"
		raven    = "GET /databases/Shop/hilo/next?tag=users HTTP/1.1\r\nHost: x\r\n"
		ends     = "0\r\n\r\n"
	)
	length := func(body string) string { return "Content-Length: " + strconv.Itoa(len(body)) + "\r\n" }
	large := strings.Repeat("a", 100_000)
	for _, tt := range []struct {
		name, sent string
		want       string // the statuses of all answers until the connection is closed
	}{
		{"Content-Length, then chunked", post + length(ends+smuggled) + "Transfer-Encoding: chunked\r\n\r\n" + ends + smuggled, "200"},
		{"chunked, then Content-Length", post + "Transfer-Encoding: chunked\r\n" + length(ends+smuggled) + "\r\n" + ends + smuggled, "200"},
		{"chunked, folded", post + length(ends+smuggled) + "Transfer-Encoding:\r\n chunked\r\n\r\n" + ends + smuggled, "200"},
		{"chunked after a bare LF", post + "X: a\nTransfer-Encoding: chunked\r\n\r\n" + ends + smuggled, "200"},
		{"chunked, of a GET", get + length(ends+smuggled) + "Transfer-Encoding: chunked\r\n\r\n" + ends + smuggled, "200"},
		{"chunked, of RavenDB's", raven + length(ends+smuggled) + "Transfer-Encoding: chunked\r\n\r\n" + ends + smuggled, "201"},
		{"chunked with a trailer", post + "Transfer-Encoding: chunked\r\nTrailer: Content-Length\r\n\r\n0\r\nContent-Length: 9\r\n\r\n" + smuggled, "400"},
		{
			"HTTP/1.0, chunked", "POST /v1/ids/orders HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n" +
				strconv.FormatInt(int64(len(smuggled)), 16) + "\r\n" + smuggled + "\r\n" + ends, "200",
		},
		{
			"HTTP/1.0, chunked and Content-Length", "POST /v1/ids/orders HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n" +
				length(ends) + "\r\n" + ends + smuggled, "200",
		},
		{"a body that is too long", post + length(large) + "\r\n" + large + smuggled, "413"},
		{"a body that is too long, of RavenDB's", raven + length(large) + "\r\n" + large + smuggled, "413"},
		{"a body that is too long, chunked", post + "Transfer-Encoding: chunked\r\n\r\n186a0\r\n" + large + "\r\n" + ends + smuggled, "413"},
		{"a body that is not read", strings.Replace(post, "Host: x", "Host: foreign.example", 1) + length(smuggled) + "\r\n" + smuggled + smuggled, "421"},
		{"a body that is not sent", post + "Expect: 100-continue\r\nHost: foreign.example\r\n" + length(smuggled) + "\r\n" + smuggled, "400"},
		{"space before the colon", post + "Transfer-Encoding : chunked\r\n" + length(ends+smuggled) + "\r\n" + ends + smuggled, "400"},
		{"another coding", post + "Transfer-Encoding: xchunked\r\n" + length(ends) + "\r\n" + ends + smuggled, "501"},
		{"two codings", post + "Transfer-Encoding: chunked, identity\r\n\r\n" + ends + smuggled, "501"},
		{"chunked twice", post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n" + ends + smuggled, "501"},
		{"a control character before the coding", post + "Transfer-Encoding: \x0bchunked\r\n\r\n" + ends + smuggled, "400"},
		{"two lengths", post + "Content-Length: 0\r\n" + length(smuggled) + "\r\n" + smuggled, "400"},
		{"a list of lengths", post + "Content-Length: 0, 9\r\n\r\n" + smuggled, "400"},
		{"a length with a sign", post + "Content-Length: +0\r\n\r\n" + smuggled, "400"},
		{"no length", post + "Content-Length: \r\n\r\n" + smuggled, "400"},
		{"a chunk without end", post + "Transfer-Encoding: chunked\r\n\r\n1\r\naa\r\n" + ends + smuggled, "400"},
		{"a chunk length that overflows", post + "Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n" + smuggled, "400"},
		{"two hosts", post + "Host: y\r\n\r\n" + smuggled, "400"},
		{"no host", "POST /v1/ids/orders HTTP/1.1\r\n\r\n" + smuggled, "400"},
		{"a body that is read", post + length(smuggled) + "\r\n" + smuggled + get + "Connection: close\r\n\r\n", "200 200"},
		{"a body of a GET that is read", raven + length(smuggled) + "\r\n" + smuggled + get + "Connection: close\r\n\r\n", "201 200"},
		{"no body", post + "\r\n" + get + "Content-Length: 0\r\n\r\n" + get + "Connection: close\r\n\r\n", "200 200 200"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := listen(t, 100, nil, func(_ *allocator.Options, o *gateway.Options) { o.Loopback = tt.want == "421" })
			if got := l.statuses(tt.sent); got != tt.want {
				t.Errorf("got answers %s, want %s and a closed connection", got, tt.want)
			}
			if n := l.client.Exists(t.Context(), "{Raven}/HiLo/smuggled").Val(); n != 0 {
				t.Error("got the smuggled request served, want it dropped")
			}
		})
	}
}

// TestServerClosesAfterABodyOfARefusedRequest sends a body that the server does not read.
func TestServerClosesAfterABodyOfARefusedRequest(t *testing.T) {
	t.Parallel()
	l := listen(t, 100, nil, func(_ *allocator.Options, o *gateway.Options) { o.Tokens = []string{newToken} })
	const next = "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
	for request, want := range map[string]string{
		"POST /v1/ids/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody":                            "401",
		"POST /v1/ids/orders HTTP/1.1\r\nHost: x\r\n\r\n":                                                     "401 200",
		"POST /v1/ids/orders HTTP/1.1\r\nHost: x\r\nSec-Fetch-Site: cross-site\r\nContent-Length: 1\r\n\r\n1": "403",
	} {
		if got := l.statuses(request + next); got != want {
			t.Errorf("%q: got answers %s, want %s and a closed connection", request, got, want)
		}
	}
}

// statuses sends text on a connection of its own and returns the statuses of all answers until the server closes it.
func (l *listening) statuses(text string) string {
	l.t.Helper()
	conn := l.dial()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(conn, text); err != nil {
		l.t.Fatal(err)
	}
	answers, err := io.ReadAll(conn)
	if err != nil && len(answers) == 0 {
		l.t.Fatal(err)
	}
	var all []string
	for _, answer := range strings.Split(string(answers), "HTTP/1.")[1:] {
		all = append(all, answer[2:5])
	}
	return strings.Join(all, " ")
}
