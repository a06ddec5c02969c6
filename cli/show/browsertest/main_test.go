package browsertest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"github.com/hilo-id/hilo/cli"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/scripts/redistest"
)

var pictures = flag.String("pictures", "", "`folder` for the pictures; without one they are discarded")

// browser is shared by all tests, each of which has tabs of its own.
var browser context.Context

// timeout is generous, since the browser shares the machine with other tests.
const timeout = 3 * time.Minute

// TestMain ignores a goroutine of go-redis that dials a server that is gone once a second, and finds only then that its client
// was closed.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(inBrowser{m}, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

// inBrowser runs tests while the browser runs.
type inBrowser struct{ *testing.M }

func (m inBrowser) Run() int {
	flag.Parse()
	logging.Disable() // go-redis would log intentional failures
	path, err := exec.LookPath("chromium")
	if err != nil {
		fmt.Fprintln(os.Stderr, "these tests need the Debian package chromium:", err)
		return 1
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.Flag("hide-scrollbars", true), chromedp.Flag("lang", "en-GB"))
	allocator, end := chromedp.NewExecAllocator(context.Background(), options...)
	defer end()
	running, closeBrowser := chromedp.NewContext(allocator)
	defer closeBrowser()
	browser = running //nolint:fatcontext // one for all tests
	if err := chromedp.Do(browser); err != nil {
		fmt.Fprintln(os.Stderr, "chromium does not start:", err)
		return 1
	}
	defer func() { _ = chromedp.Cancel(browser) }()
	return m.M.Run()
}

// hilo runs a command that has to succeed.
func hilo(t *testing.T, args ...string) {
	t.Helper()
	var stderr clitest.Watched
	if code := cli.Run(t.Context(), append([]string{"hilo"}, args...), base.Env{Stdout: new(clitest.Watched), Stderr: &stderr}); code != 0 {
		t.Fatalf("hilo %q: exit %d, %s", args, code, stderr.String())
	}
}

// serve starts hilo top --listen and returns its URL. It runs until stop or the end of the test.
func serve(t testing.TB, args ...string) (address string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var stdout, stderr clitest.Watched
	ended := make(chan int, 1)
	args = append([]string{"hilo", "top", "--listen", "127.0.0.1:0", "--interval", "100ms"}, args...)
	go func() { ended <- cli.Run(ctx, args, base.Env{Stdout: &stdout, Stderr: &stderr}) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if code := <-ended; code != 0 {
			t.Errorf("hilo top: exit %d, %s", code, stderr.String())
		}
	})
	t.Cleanup(stop)
	stdout.Await(t, "\n")
	address, _, _ = strings.Cut(stdout.String(), "\n")
	return address, stop
}

// tab is a browser tab with the faults that were detected in it.
type tab struct {
	t   testing.TB
	ctx context.Context //nolint:containedctx // a tab is a context of chromedp

	mu     sync.Mutex // guards what follows
	faults []string
	outage bool // whether network errors are expected
}

// open runs actions and opens a page of the given size in pixels. At the end of the test, messages in the console and requests
// to other hosts are faults.
func open(t testing.TB, address string, width, height int64, actions ...chromedp.Action[chromedp.Void]) *tab {
	t.Helper()
	tabContext, closeTab := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	if err := chromedp.Do(tabContext); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(tabContext, timeout)
	p := &tab{t: t, ctx: ctx}
	t.Cleanup(func() {
		cancel()
		closeTab()
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, fault := range p.faults {
			t.Error(fault)
		}
	})
	home, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Listen(ctx, func(happened any) {
		switch e := happened.(type) {
		case *runtime.EventConsoleAPICalled:
			p.faultf("console: %s %s", e.Type, e.Args[0].Value)
		case *runtime.EventExceptionThrown:
			p.faultf("exception: %s %v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception)
		case *log.EventEntryAdded:
			p.faultf("log: %s %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL)
		case *network.EventRequestWillBeSent:
			if to, err := url.Parse(e.Request.URL); err != nil || to.Host != home.Host {
				p.faultf("request to %s", e.Request.URL)
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	_, err1 := chromedp.Call(ctx, log.Enable, cdp.Empty{})
	_, err2 := chromedp.Call(ctx, network.Enable, network.EnableParams{})
	_, err3 := chromedp.Call(ctx, runtime.Enable, cdp.Empty{})
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	p.do(chromedp.EmulateViewport(width, height))
	p.do(actions...)
	p.do(chromedp.Navigate(address))
	return p
}

func (p *tab) faultf(format string, values ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if text := fmt.Sprintf(format, values...); !strings.Contains(text, "ERR_NETWORK_CHANGED") && (!p.outage || !strings.Contains(text, "ERR_")) {
		p.faults = append(p.faults, text)
	}
}

// expectOutage makes tab ignore network errors.
func (p *tab) expectOutage() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.outage = true
}

func (p *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// eval returns the value of a JavaScript expression.
func eval[T any](p *tab, expression string) T {
	p.t.Helper()
	value, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// await waits until an expression is true.
func (p *tab) await(what, expression string) {
	p.t.Helper()
	_, err := chromedp.Run(p.ctx, chromedp.Poll[chromedp.Void](expression, chromedp.WithPollingTimeout(timeout/3), chromedp.WithPollingInterval(20*time.Millisecond)))
	if err != nil {
		p.t.Fatalf("%s: %v; the page is\n%s", what, err, eval[string](p, "document.body.innerText"))
	}
}

// openLive opens a page and waits until it has drawn the first event, which replaces the rows of the HTML.
func openLive(t testing.TB, address string, width, height int64, actions ...chromedp.Action[chromedp.Void]) *tab {
	t.Helper()
	p := open(t, address, width, height, actions...)
	p.await("the first event", "frame !== null && !drawRequested")
	return p
}

func (p *tab) click(selector string) {
	p.t.Helper()
	p.do(chromedp.Click(chromedp.CSS(selector)))
}

// filter replaces the text of the filter.
func (p *tab) filter(text string) {
	p.t.Helper()
	eval[string](p, `document.getElementById("filter").value = ""`)
	p.do(chromedp.SendKeys(chromedp.CSS("#filter"), text))
}

// cell returns a JavaScript expression for the text of a cell.
func cell(row, field string) string {
	return fmt.Sprintf("(document.querySelector(`tr[%s] [data-field=%s]`)||{}).textContent", row, field)
}

// scheme returns an action that sets the preferred color scheme.
func scheme(name string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
		})
		return err
	})
}

// startServer starts a real server with a prefix.
func startServer(t *testing.T, prefix string, home bool) *redistest.Server {
	t.Helper()
	s := redistest.Start(t, redistest.Binaries(t)[0], "--appendonly", "yes", "--appendfsync", "always")
	hilo(t, "settings", "set", prefix, "--tag", prefix[:1], fmt.Sprintf("--identities=%t", home), "--redis", s.URL())
	return s
}
