package browsertest

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/chromedp/chromedp"

	"github.com/hilo-id/hilo/cli"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/clitest"
)

// TestPictures takes screenshots in both colour schemes and several sizes, with a counter that jumped, one with low headroom,
// and a server that is down.
func TestPictures(t *testing.T) {
	t.Parallel()
	north, south := startServer(t, "NorthServer/", true), startServer(t, "SouthServer/", false)
	for i, name := range []string{"orders", "users", "invoices", "products", "shipments", "payments", "tickets", "audit-events"} {
		hilo(t, "seed", name, "--max", fmt.Sprint(1234567*(i*i*i+1)), "--redis", north.URL())
	}
	hilo(t, "seed", "sessions", "--max", "2100000000", "--redis", north.URL())
	hilo(t, "identity", "next", "companies", "--redis", north.URL())
	hilo(t, "next", "orders", "--redis", south.URL())
	address, _ := serve(t, "--redis", "north="+north.URL(), "--redis", "south="+south.URL(), "--columns", "int")
	pages := make(map[string]*tab)
	for _, name := range []string{"light", "dark"} {
		for _, size := range [][2]int64{{360, 740}, {1280, 760}, {2560, 1440}} {
			p := openLive(t, address, size[0], size[1], scheme(name))
			p.await("rows", `document.querySelectorAll("tr[data-collection]").length === 10`)
			pages[fmt.Sprintf("%s-%d", name, size[0])] = p
		}
	}
	for range 30 {
		for i, name := range []string{"orders", "users", "invoices", "products", "tickets"} {
			hilo(t, "next", name, "--count", fmt.Sprint(200+40*i*i), "--redis", north.URL())
		}
	}
	north.Client(t).HSet(t.Context(), "{Raven}/HiLo/payments", "Epoch", "1795848387772000001")
	north.Client(t).HIncrBy(t.Context(), "{Raven}/HiLo/payments", "Max", 2_162_688)
	south.Kill()
	for name, p := range pages {
		p.await("a jump and a server that is down", `document.querySelector("tr.down") !== null && document.querySelector("tr[data-collection=payments].alarming") !== null`)
		if name != "light-1280" { // the picture of the README
			p.click(`tr[data-collection="payments"] button`)
			p.await("history", `document.querySelector(".history h3") !== null`)
		}
		draw := chromedp.FullScreenshot(100)
		if name == "light-1280" {
			draw = chromedp.CaptureScreenshot()
		}
		picture, err := chromedp.Run(p.ctx, draw)
		if err != nil {
			t.Fatal(err)
		}
		write(t, name+".png", picture)
	}
}

// write writes a picture to the folder of the flag, if it is set.
func write(t *testing.T, name string, picture []byte) {
	t.Helper()
	if *pictures == "" {
		return
	}
	if err := os.MkdirAll(*pictures, 0o755); err != nil { //nolint:gosec // pictures are public
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*pictures, name), picture, 0o644); err != nil { //nolint:gosec // pictures are public
		t.Fatal(err)
	}
}

// TestDemoPicture renders the output of hilo demo as an SVG for both colour schemes.
func TestDemoPicture(t *testing.T) {
	t.Parallel()
	const margin, advance, height = 18, 7.83, 19
	var stdout clitest.Watched
	if code := cli.Run(t.Context(), []string{"hilo", "demo"}, base.Env{Stdout: &stdout, Stderr: new(clitest.Watched)}); code != 0 {
		t.Fatalf("hilo demo: exit %d", code)
	}
	lines := strings.Split(strings.Trim(stdout.String(), "\n"), "\n")
	var body strings.Builder
	widest := 0
	for i, line := range lines {
		widest = max(widest, utf8.RuneCountInString(line))
		text := html.EscapeString(line)
		for class, what := range map[string]string{"bad": "north is lost", "good": "north is back", "good ": "Verified:"} {
			text = strings.ReplaceAll(text, what, fmt.Sprintf(`<tspan class="%s">%s</tspan>`, strings.TrimSpace(class), what))
		}
		fmt.Fprintf(&body, "<text x=\"%d\" y=\"%d\" xml:space=\"preserve\">%s</text>\n", margin, margin+height*i+14, text)
	}
	if !strings.Contains(body.String(), `<tspan class="good">Verified:</tspan>`) {
		t.Errorf("the demo printed %s", stdout.String())
	}
	write(t, "demo.svg", fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[2]d" width="%[1]d" height="%[2]d" role="img" aria-label="hilo demo">
<style>
svg { --ground: #fff; --ink: #16201f; --good: #0b6e69; --bad: #b3201b }
@media (prefers-color-scheme: dark) { svg { --ground: #171f1e; --ink: #e6edec; --good: #5bc8be; --bad: #ff8d85 } }
text { fill: var(--ink); font: 13px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace }
.good { fill: var(--good); font-weight: 700 }
.bad { fill: var(--bad); font-weight: 700 }
</style>
<rect width="100%%" height="100%%" rx="10" fill="var(--ground)"/>
%[3]s</svg>
`, int(float64(widest)*advance)+2*margin, height*len(lines)+2*margin, body.String()))
}
