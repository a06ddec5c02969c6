package show

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/cli/internal/web"
)

func TestSiteIsSmall(t *testing.T) {
	t.Parallel()
	const limit = 61_440
	size := 0
	err := fs.WalkDir(page, "page", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := page.ReadFile(path)
		size += len(text)
		for line := range strings.Lines(string(text)) {
			if len(line) > 200 {
				t.Errorf("%s has a line of %d bytes", path, len(line))
			}
		}
		return err
	})
	if err != nil || size > limit {
		t.Errorf("%d bytes, want at most %d; %v", size, limit, err)
	}
}

// newSite returns a site of one server, without a listener.
func newSite() *site {
	targets := []target.Target{{Name: "north"}}
	t := top{Session: &base.Session{Namespace: "Raven", Log: zap.NewNop()}, targets: targets, Sort: sorts[0], Limit: math.MaxInt64, web: new(web.Server)}
	return &site{top: t, done: make(chan struct{}), state: newState(targets, t.Limit), viewers: make(map[chan []byte]struct{})}
}

func TestSiteEscapesNames(t *testing.T) {
	t.Parallel()
	s := newSite()
	hostile := []string{`<img src=x onerror="alert(1)">`, "\u202egnp.exe\x07", strings.Repeat("x", 128), "<!--events-->", "𝒳\U000e0001"}
	l := at(0)
	for _, name := range hostile {
		l.counters = append(l.counters, polledCounter{Counter: counterOf(name, 1, 1, 0), at: l.at})
	}
	l.Prefix = "\u202e<b>"
	s.merge(l)
	recorder := httptest.NewRecorder()
	s.servePage(recorder, nil)
	got := recorder.Body.String()
	for _, want := range []string{
		`<bdi>&lt;img src=x onerror=&#34;alert(1)&#34;&gt;</bdi>`, `<bdi>\u202egnp.exe\u0007</bdi>`, "data-collection=\"\u202egnp.exe\x07\"",
		strings.Repeat("x", 128), `<bdi>&lt;!--events--&gt;</bdi>`, `<bdi>𝒳\u{e0001}</bdi>`, `<td role="cell" data-field="prefix">\u202e&lt;b&gt;</td>`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in the page", want)
		}
	}
	if strings.Contains(got, "<img src=x") || strings.Contains(got, "<b>") {
		t.Errorf("a name was not escaped: %s", got)
	}
}

// Other viewers are not affected by one that stalls.
func TestSiteDropsAViewerThatStalls(t *testing.T) {
	t.Parallel()
	s := newSite()
	s.merge(at(0, counterOf("orders", 1, 1, 0)))
	_, stalled := s.subscribe()
	_, reads := s.subscribe()
	for i := range maxBehind + 1 {
		s.merge(at(float64(i+1), counterOf("orders", int64(i+2), 1, 0)))
		if _, ok := <-reads; !ok {
			t.Fatalf("a viewer that reads was dropped after %d polls", i+1)
		}
	}
	for range maxBehind {
		<-stalled
	}
	if _, ok := <-stalled; ok || len(s.viewers) != 1 {
		t.Errorf("got %d viewers, want the stalled one dropped", len(s.viewers))
	}
}

// stream is a ResponseWriter that sends what is written to a channel, without a copy.
type stream chan []byte

func (stream) Header() http.Header                  { return http.Header{} }
func (stream) WriteHeader(int)                      {}
func (stream) Flush()                               {}
func (s stream) Write(text []byte) (n int, _ error) { s <- text; return len(text), nil }

// Each viewer may stall with several events, all of which share their memory.
func TestSiteSharesItsEventsBetweenViewers(t *testing.T) {
	t.Parallel()
	s := newSite()
	s.merge(at(0, counterOf("orders", 1, 1, 0)))
	ctx, cancel := context.WithCancel(t.Context())
	var serving sync.WaitGroup
	defer serving.Wait()
	defer cancel()
	one, two := make(stream), make(stream)
	for _, viewer := range []stream{one, two} {
		serving.Go(func() { s.serveEvents(viewer, httptest.NewRequestWithContext(ctx, http.MethodGet, "/events", nil)) })
	}
	for i, want := range []string{`"max":1,`, `"max":2,`, `"max":3,`} {
		if i > 0 {
			s.merge(at(float64(i), counterOf("orders", int64(i+1), 1, 0)))
		}
		a, b := <-one, <-two
		if !strings.HasPrefix(string(a), "data: {") || !strings.HasSuffix(string(a), "}\n\n") || !strings.Contains(string(a), want) {
			t.Errorf("event %d: got %q, want one with %s", i, a, want)
		}
		if &a[0] != &b[0] {
			t.Errorf("event %d: got a copy for each viewer, want one event for both", i)
		}
	}
}

// TestSiteSendsLittle changes 100 of 10,000 counters in each poll.
func TestSiteSendsLittle(t *testing.T) {
	t.Parallel()
	const limit = 50_000 // bytes per poll
	s := newSite()
	counters := func(poll int64) pollResult {
		l := at(float64(poll))
		for i := range int64(10_000) {
			value, ranges := i*1_000_000_000, int64(100)
			if i%100 == 0 {
				value, ranges = value+poll*(1234+i), ranges+poll
			}
			l.counters = append(l.counters, polledCounter{Counter: counterOf(fmt.Sprintf("collection-%05d", i), value, ranges, 0), at: l.at})
		}
		return l
	}
	s.merge(counters(0))
	s.merge(counters(1))
	_, viewer := s.subscribe()
	for i := range int64(8) {
		s.merge(counters(i + 2))
		if frame := <-viewer; len(frame) > limit {
			t.Errorf("poll %d: %d bytes, want at most %d: %s", i, len(frame), limit, frame[:1000])
		} else if i == 7 {
			t.Logf("%d bytes per poll", len(frame))
		}
	}
	recorder, start := httptest.NewRecorder(), time.Now()
	s.servePage(recorder, nil)
	if got := strings.Count(recorder.Body.String(), "<tr role=\"row\" data-collection="); got != maxRows || !strings.Contains(recorder.Body.String(), "and 9500 more") {
		t.Errorf("%d rows without JavaScript, after %v", got, time.Since(start))
	}
}
