package browsertest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// hostile are names that the page has to show as text.
var hostile = []string{`<img/src=x/onerror=alert(1)>","max":1234567890123456789,"x":"`, "\u202egnp.exe", strings.Repeat("x", 128)}

// add writes n counters directly.
func add(t testing.TB, client redistest.Client, n int) {
	t.Helper()
	pipe := client.Pipeline()
	for i := range n {
		pipe.HSet(t.Context(), fmt.Sprintf("{Raven}/HiLo/c%05d", i), "Max", 1000*i, "Ranges", 1)
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestPageFollowsItsServers follows servers from the first row, through a jump, to the end of a server and its recovery.
func TestPageFollowsItsServers(t *testing.T) {
	t.Parallel()
	north, south := startServer(t, "NorthServer/", true), startServer(t, "SouthServer/", false)
	address, _ := serve(t, "--redis", "north="+north.URL(), "--redis", "south="+south.URL())
	p := openLive(t, address, 1280, 800)
	p.await("no counter yet", `document.querySelector("#collections .none") !== null`)
	hilo(t, "next", "orders", "--count", "3", "--redis", north.URL())
	hilo(t, "identity", "next", "companies", "--redis", north.URL())
	const orders = `data-collection="orders"][data-of="north"`
	p.await("a row", cell(orders, "max")+` === "3"`)
	p.await("an identity", cell(`data-identity="companies"`, "max")+` === "1"`)
	if got := eval[string](p, cell(`data-server="north"`, "prefix")+"+"+cell(`data-server="north"`, "home")+"+"+cell(`data-server="north"`, "state")); got != "NorthServer/homeup" {
		t.Errorf("north: %q", got)
	}
	hilo(t, "next", "orders", "--count", "100", "--redis", north.URL())
	p.await("a number that rose", cell(orders, "max")+` === "103"`)
	p.await("what is not known", cell(`data-server="south"`, "since")+`.startsWith("top began, ")`)

	add(t, north.Client(t), 20)
	p.await("all rows", `document.querySelectorAll("tr[data-collection]").length === 21`)
	north.Client(t).HSet(t.Context(), "{Raven}/HiLo/orders", "Max", "9007199254740993", "Raised", "9007199254741993", "Epoch", "1795848387772000001")
	p.await("an exact number beyond 2^53", cell(orders, "max")+` === "9007199254740993"`)
	p.await("a jump that is marked, and on top", `document.querySelector("#collections tbody tr.alarming .mark")?.textContent.startsWith("jumped +9,007,199,254,740,") &&
		document.querySelector("#collections tbody tr")?.dataset.collection === "orders"`)
	p.await("an alarm that is read out", `document.querySelector("[role=alert]").textContent.includes("orders on north jumped by") &&
		document.querySelector("[role=alert]").textContent.includes("epoch 0 → 1")`)

	p.click(fmt.Sprintf("tr[%s] button", orders))
	p.await("its history", `document.querySelector(".history")?.textContent.includes("+9,007,199,254,740,890, epoch 1")`)
	p.await("its ceiling", `document.querySelector(".history")?.textContent.includes("1,000 left to its ceiling, 9,007,199,254,741,993")`)
	south.Kill()
	p.await("a server that is down", cell(`data-server="south"`, "state")+` === "down" && document.querySelector("#figure-servers.alarming") !== null`)
	south.Restart()
	p.await("a server that is back", cell(`data-server="south"`, "state")+` === "up" && /^[0-9:]{8}$/.test(`+cell(`data-server="south"`, "since")+`)`)
	south.Client(t).FlushAll(t.Context())
	p.await("a server that lost its settings", cell(`data-server="south"`, "since")+`.endsWith(": no settings: see hilo doctor") &&
		document.querySelector("#figure-servers.alarming") !== null`)
}

// TestPageReconnectsToItsProgram restarts the program. The page shows the outage meanwhile.
func TestPageReconnectsToItsProgram(t *testing.T) {
	t.Parallel()
	north := startServer(t, "NorthServer/", true)
	hilo(t, "next", "orders", "--redis", north.URL())
	address, stop := serve(t, "--redis", north.URL())
	p := openLive(t, address, 1280, 800)
	p.await("a row", cell(`data-collection="orders"`, "max")+` === "1"`)
	p.expectOutage()
	stop()
	p.await("the loss", `document.body.classList.contains("lost") && document.getElementById("connection").textContent.includes("lost since")`)
	if got := eval[string](p, cell(`data-collection="orders"`, "max")); got != "1" {
		t.Errorf("Max is %q, want the last figure", got)
	}
	hilo(t, "next", "orders", "--count", "9", "--redis", north.URL())
	serve(t, "--redis", north.URL(), "--listen", strings.TrimPrefix(address, "http://"))
	p.await("the return", `!document.body.classList.contains("lost") && `+cell(`data-collection="orders"`, "max")+` === "10"`)
}

// TestPageReplacesASilentConnection makes connections silent, which report no error.
func TestPageReplacesASilentConnection(t *testing.T) {
	t.Parallel()
	north := startServer(t, "NorthServer/", true)
	hilo(t, "next", "orders", "--redis", north.URL())
	address, _ := serve(t, "--redis", north.URL())
	var silent atomic.Bool // whether existing connections are silent
	var others sync.Map    // connections without a stream, which the browser would reuse
	through := redistest.Listen(t, func(client net.Conn) {
		server, err := net.Dial("tcp", strings.TrimPrefix(address, "http://"))
		if err != nil {
			return
		}
		defer server.Close()
		stays := silent.Load()
		others.Store(client, nil)
		go func() { _, _ = io.Copy(server, client); _ = server.Close() }()
		for buffer := make([]byte, 1<<16); ; {
			n, err := server.Read(buffer)
			if err != nil {
				return
			}
			if bytes.Contains(buffer[:n], []byte("text/event-stream")) {
				others.Delete(client)
			}
			if silent.Load() == stays {
				_, _ = client.Write(buffer[:n])
			}
		}
	})
	p := openLive(t, "http://"+through, 1280, 800)
	p.await("a row", cell(`data-collection="orders"`, "max")+` === "1"`)
	eval[bool](p, `(() => {
		const markLostNow = markLost;
		markLost = (reason) => { window.lost_ = reason; markLostNow(reason); };
		return true;
	})()`)
	silent.Store(true)
	others.Range(func(client, _ any) bool { _ = client.(net.Conn).Close(); return true })
	hilo(t, "next", "orders", "--redis", north.URL())
	p.await("another connection after the silence", `window.lost_ === "the connection is silent" && !document.body.classList.contains("lost") && `+cell(`data-collection="orders"`, "max")+` === "2"`)
}

func TestPageShowsTheStateAtLoadWithoutScripts(t *testing.T) {
	t.Parallel()
	north := startServer(t, "NorthServer/", true)
	add(t, north.Client(t), 501)
	address, _ := serve(t, "--redis", north.URL())
	p := open(t, address, 360, 800, func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return chromedp.Void{}, err
	})
	for expression, want := range map[string]string{
		`document.querySelectorAll("tr[data-collection]").length + ""`:             "500",
		`document.getElementById("collections-more").textContent`:                  "and 1 more",
		`document.querySelector("#figure-servers .value").textContent`:             "1 of 1 up",
		cell(`data-server`, "prefix"):                                              "NorthServer/",
		cell(`data-server`, "since") + `.startsWith("top began, ") + ""`:           "true",
		cell(`data-collection="c00001"`, "headroom"):                               "<0.01% of 2^31-1",
		`document.getElementById("filter").checkVisibility() + ""`:                 "false",
		`(document.documentElement.scrollWidth <= 360) + ""`:                       "true",
		`document.getElementById("connection").textContent.includes("as of") + ""`: "true",
	} {
		if got := eval[string](p, expression); got != want {
			t.Errorf("%s: got %q, want %q", expression, got, want)
		}
	}
	for _, fault := range eval[[]string](p, audit) {
		t.Error(fault)
	}
}

func TestPageFiltersAndSorts(t *testing.T) {
	t.Parallel()
	north := startServer(t, "NorthServer/", true)
	client := north.Client(t)
	add(t, client, 1200)
	for _, name := range hostile {
		client.HSet(t.Context(), "{Raven}/HiLo/"+name, "Name", name, "Max", "5")
	}
	address, _ := serve(t, "--redis", north.URL())
	p := openLive(t, address, 1280, 800)
	first := `document.querySelector("#collections tbody tr[data-collection]").dataset.collection`
	p.await("the first rows", `document.querySelectorAll("tr[data-collection]").length === 500 && document.getElementById("collections-more").textContent === "and 703 more"`)
	p.click("#collections-show")
	p.await("more rows", `document.querySelectorAll("tr[data-collection]").length === 1000`)
	for _, step := range []struct{ key, want string }{{"max", "c01199"}, {"max", hostile[2]}, {"name", hostile[0]}, {"name", hostile[1]}} {
		p.click(fmt.Sprintf(`#collections [data-sort="%s"] button`, step.key))
		if step.want != hostile[2] { // several have the least Max
			p.await("sorted by "+step.key, fmt.Sprintf("%s === %q", first, step.want))
		}
	}
	p.await("the order is announced", `document.querySelector("#collections [data-sort=name]").getAttribute("aria-sort") === "descending"`)
	p.do(chromedp.KeyEvent("/"))
	p.await("the focus on the filter", `document.activeElement.id === "filter"`)
	p.filter("C00999")
	p.await("the row that was filtered for", `document.querySelectorAll("tr[data-collection]").length === 1 && `+cell(`data-collection="c00999"`, "max")+` === "999000"`)
	if got := eval[string](p, "location.hash"); got != "#filter=C00999&sort=-name" {
		t.Errorf("the URL has %q", got)
	}
	p.do(chromedp.KeyEvent(kb.Escape))
	for i, shown := range []string{hostile[0], `\u202egnp.exe`, hostile[2]} {
		name := fmt.Sprintf("[...document.querySelectorAll('tr[data-collection]')].find((tr) => tr.dataset.collection === %q)", hostile[i])
		p.filter([]string{"onerror", "gnp", "xxxx"}[i])
		p.await("a hostile name as text", fmt.Sprintf("%s && %s.querySelector('th').textContent === %q", name, name, shown))
	}
	if eval[bool](p, "document.querySelector('tbody img') !== null") {
		t.Error("a name became an element")
	}
}

// TestPageShowsUsedSharesApart compares the bars of several used shares, and the figure of each.
func TestPageShowsUsedSharesApart(t *testing.T) {
	t.Parallel()
	north := startServer(t, "NorthServer/", true)
	client := north.Client(t)
	shares := []struct{ name, limit, used string }{
		{"a", "21474", "<0.01% of 2^31-1"},
		{"b", "2147483", "0.10% of 2^31-1"},
		{"c", "21474836", "1.0% of 2^31-1"},
		{"d", "1288490188", "60.0% of 2^31-1"},
		{"e", "2147483646", "99.9% of 2^31-1"},
		{"f", "2147483647", "<0.01% of 2^53-1"},
		{"g", "9223372036854775807", "100% of 2^63-1"},
	}
	for _, s := range shares {
		client.HSet(t.Context(), "{Raven}/HiLo/"+s.name, "Max", s.limit)
	}
	address, _ := serve(t, "--redis", north.URL())
	for _, width := range []int64{360, 1280} {
		p := openLive(t, address, width, 800)
		p.await("rows", `document.querySelectorAll("tr[data-collection]").length === 7`)
		widths := make(map[string]float64)
		for _, s := range shares {
			if got := eval[string](p, cell(fmt.Sprintf("data-collection=%q", s.name), "headroom")); got != s.used {
				t.Errorf("%d pixels, Max %s: got %q, want %q", width, s.limit, got, s.used)
			}
			row := fmt.Sprintf("tr[data-collection=%s]", s.name)
			widths[s.name] = eval[float64](p, fmt.Sprintf(`(() => {
				const [share, all] = ["share", "all"].map((which) => document.querySelector("%s ." + which).getBoundingClientRect().width);
				return 100 * share / all;
			})()`, row))
		}
		for _, pair := range []string{"ab", "bc", "cd", "de"} {
			if less, more := widths[pair[:1]], widths[pair[1:]]; more-less < 2 {
				t.Errorf("%d pixels: got bars of %.1f%% and %.1f%% for %s, want them 2%% apart or more", width, less, more, pair)
			}
		}
		if widths["c"] < 5 || widths["d"]-widths["c"] < 40 {
			t.Errorf("%d pixels: got bars of %.1f%% for 1%% and %.1f%% for 60%%, want at least 5%% and 40%% more", width, widths["c"], widths["d"])
		}
	}
}

// TestPageAlarmsAtMaxValue covers counters of a server with a MaxValue, next to one that issues all numbers.
func TestPageAlarmsAtMaxValue(t *testing.T) {
	t.Parallel()
	north, south := startServer(t, "NorthServer/", true), startServer(t, "SouthServer/", false)
	client := south.Client(t)
	client.HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "MinValue", 3_000_000_001, "MaxValue", 3_000_001_000)
	client.HSet(t.Context(), "{Raven}/HiLo/full", "Max", 3_000_000_950)
	client.HSet(t.Context(), "{Raven}/HiLo/new", "Max", 3_000_000_050)
	address, _ := serve(t, "--redis", "north="+north.URL(), "--redis", "south="+south.URL())
	p := openLive(t, address, 1280, 800)
	for _, row := range []struct {
		name, used string
		alarms     bool
	}{{"full", "95.0% of 3000001000", true}, {"new", "5.0% of 3000001000", false}} {
		p.await("the share of "+row.name, fmt.Sprintf("%s === %q", cell(fmt.Sprintf("data-collection=%q", row.name), "headroom"), row.used))
		if got := eval[bool](p, fmt.Sprintf(`document.querySelector("tr[data-collection=%s]").matches(".alarming")`, row.name)); got != row.alarms {
			t.Errorf("%s: got an alarm %t, want %t", row.name, got, row.alarms)
		}
	}
}

// TestPageOfAPhone expects the servers on the first screen, and one control for the order instead of column titles.
func TestPageOfAPhone(t *testing.T) {
	t.Parallel()
	north := startServer(t, "NorthServer/", true)
	add(t, north.Client(t), 9)
	address, _ := serve(t, "--redis", north.URL())
	p := openLive(t, address, 360, 740)
	p.await("rows", `document.querySelectorAll("tr[data-collection]").length === 9`)
	if got := eval[float64](p, `document.querySelector("tr[data-server]").getBoundingClientRect().top`); got > 370 {
		t.Errorf("got the first server at %.0f pixels, want it on the first half of the screen", got)
	}
	if eval[bool](p, `[...document.querySelectorAll("thead, #unsort")].some((e) => e.checkVisibility())`) {
		t.Error("got the titles of columns shown, want one control for the order")
	}
	first := `document.querySelector("#collections tbody tr[data-collection]").dataset.collection`
	choose := func(key string) {
		eval[bool](p, fmt.Sprintf(`(() => {
			const sort = document.getElementById("sort");
			sort.value = %q;
			return sort.dispatchEvent(new Event("change"));
		})()`, key))
	}
	choose("max")
	p.await("the greatest Max first", first+` === "c00008"`)
	p.click("#reverse")
	p.await("the least Max first", first+` === "c00000" && location.hash === "#sort=-max" && document.getElementById("reverse").textContent === "↑"`)
	choose("")
	p.await("the usual order", `location.hash === "" && !document.getElementById("reverse").checkVisibility()`)
	if got := eval[string](p, `[...document.getElementById("sort").options].filter((o) => !o.hidden).map((o) => o.value).join()`); got != ",name,max,rate,ranges,epoch,left,used" {
		t.Errorf("got the orders %q, want one for each column of one server", got)
	}
}

// TestPageFitsAllScreens expects no horizontal scroll bar, and enough contrast in both colour schemes.
func TestPageFitsAllScreens(t *testing.T) {
	t.Parallel()
	north := startServer(t, strings.Repeat("N", 62)+"/", true)
	for _, name := range hostile {
		north.Client(t).HSet(t.Context(), "{Raven}/HiLo/"+name, "Name", name, "Max", "9223372036854775807", "Ranges", "9223372036854775807")
	}
	hilo(t, "identity", "next", "companies", "--redis", north.URL())
	address, _ := serve(t, "--redis", "north="+north.URL(), "--redis", "south=redis://127.0.0.1:1")
	for _, width := range []int64{360, 414, 768, 1024, 1130, 1280, 1920, 3840} {
		p := openLive(t, address, width, 900, scheme(map[bool]string{true: "dark", false: "light"}[width%100 == 60]))
		p.await("rows", `document.querySelectorAll("tr[data-collection]").length === 3 && document.querySelectorAll("tr.down").length === 1`)
		p.click("tr[data-collection] button")
		p.await("history", `document.querySelector(".history h3") !== null`)
		if got := eval[int64](p, "document.documentElement.scrollWidth"); got > width {
			t.Errorf("%d pixels: the page is %d wide", width, got)
		}
		for _, fault := range eval[[]string](p, audit) {
			t.Errorf("%d pixels: %s", width, fault)
		}
	}
}

// TestPageSupportsKeyboards expects a visible focus on each control, and Enter to open a history.
func TestPageSupportsKeyboards(t *testing.T) {
	t.Parallel()
	north := startServer(t, "NorthServer/", true)
	hilo(t, "next", "orders", "--redis", north.URL())
	address, _ := serve(t, "--redis", north.URL())
	p := openLive(t, address, 1280, 800)
	p.await("a row", cell(`data-collection="orders"`, "max")+` === "1"`)
	found := make(map[string]bool)
	for range 30 {
		p.do(chromedp.KeyEvent(kb.Tab))
		found[eval[string](p, `document.activeElement.textContent.trim() || document.activeElement.id`)] = true
		if eval[bool](p, `document.activeElement.closest("tr[data-collection=orders]") !== null`) {
			break
		}
	}
	for _, want := range []string{"filter", "Max", "Time left", "orders"} {
		if !found[want] {
			t.Errorf("%s cannot be reached; there are %v", want, found)
		}
	}
	if width := eval[string](p, "getComputedStyle(document.activeElement).outlineWidth"); width == "0px" {
		t.Error("the focus does not show")
	}
	p.do(chromedp.KeyEvent(kb.Enter))
	p.await("the history", `document.activeElement.getAttribute("aria-expanded") === "true" && document.querySelector(".history h3") !== null`)
	p.do(chromedp.KeyEvent(kb.Enter))
	p.await("no history", `document.querySelector(".history") === null`)
}
