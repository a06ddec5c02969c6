package browsertest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"

	"github.com/hilo-id/hilo/scripts/redistest"
)

const (
	counters = 10_000
	changing = 100 // counters that change between polls
)

// many is a page of 10,000 counters with a client that changes them.
type many struct {
	*tab
	client redistest.Client
}

func openMany(t testing.TB) many {
	t.Helper()
	north := redistest.Start(t, redistest.Binaries(t)[0])
	client := north.Client(t)
	add(t, client, counters)
	address, _ := serve(t, "--redis", north.URL(), "--interval", "1s")
	m := many{tab: openLive(t, address, 1280, 800), client: client}
	m.await("rows", `document.querySelectorAll("tr[data-collection]").length === 500`)
	eval[bool](m.tab, `(() => {
		window.frames_ = [];
		const draw = drawAll, mergeEvent = merge;
		let spent = 0;
		merge = (...all) => { const at = performance.now(); mergeEvent(...all); spent += performance.now() - at; };
		drawAll = () => {
			const at = performance.now();
			draw();
			document.body.offsetHeight;
			frames_.push(spent + performance.now() - at);
			spent = 0;
		};
		return true;
	})()`)
	return m
}

// change changes 100 counters and waits until the page has drawn them.
func (m many) change() {
	m.t.Helper()
	frames := eval[int](m.tab, "frames_.length")
	pipe := m.client.Pipeline()
	for i := 0; i < counters; i += counters / changing {
		pipe.HIncrBy(m.t.Context(), fmt.Sprintf("{Raven}/HiLo/c%05d", i), "Max", int64(100+i))
		pipe.HIncrBy(m.t.Context(), fmt.Sprintf("{Raven}/HiLo/c%05d", i), "Ranges", 1)
	}
	if _, err := pipe.Exec(m.t.Context()); err != nil {
		m.t.Fatal(err)
	}
	m.await("another poll", fmt.Sprintf("frames_.length > %d", frames))
}

// heap returns the size of the JavaScript heap in bytes.
func (m many) heap() float64 {
	m.t.Helper()
	if _, err := chromedp.Call(m.ctx, performance.Enable, performance.EnableParams{}); err != nil {
		m.t.Fatal(err)
	}
	metrics, err := chromedp.Call(m.ctx, performance.GetMetrics, struct{}{})
	if err != nil {
		m.t.Fatal(err)
	}
	for _, metric := range metrics.Metrics {
		if metric.Name == "JSHeapTotalSize" {
			return metric.Value
		}
	}
	m.t.Fatal("the browser does not report JSHeapTotalSize")
	return 0
}

// TestPageDrawsOnlyChangedRows changes some of 10,000 counters.
func TestPageDrawsOnlyChangedRows(t *testing.T) {
	t.Parallel()
	m := openMany(t)
	for range 2 {
		m.change() // rates are known from the second poll on
	}
	eval[bool](m.tab, `(() => {
		window.written_ = new Set();
		window.made_ = 0;
		new MutationObserver((records) => {
			for (const record of records) {
				const row = record.target.parentElement.closest("tr[data-collection]");
				if (row && row.dataset.collection) {
					written_.add(row.dataset.collection);
				}
				made_ += [...record.addedNodes].filter((node) => node.nodeName === "TR").length;
			}
		}).observe(document.querySelector("#collections tbody"), { childList: true, characterData: true, subtree: true });
		return true;
	})()`)
	for range 3 {
		m.change()
	}
	written, made := eval[[]string](m.tab, "[...written_]"), eval[int](m.tab, "made_")
	if len(written) == 0 || len(written) > changing {
		t.Errorf("the page wrote to %d rows, want 1 to %d", len(written), changing)
	}
	for _, name := range written {
		if !strings.HasSuffix(name, "00") {
			t.Errorf("the page wrote to the row of %s, which did not change", name)
		}
	}
	const moved = 2 * changing // a row whose rate rises swaps its position with another
	if made > 3*moved {
		t.Errorf("the page added %d rows in 3 polls, want at most %d", made, 3*moved)
	}
	if heap := m.heap(); heap > 200<<20 {
		t.Errorf("the heap has %.0f bytes, want at most %d", heap, 200<<20)
	}
}

// BenchmarkFrame reports the time to draw 10,000 counters of which 100 changed, the time to draw them with new rows, and the
// memory of the page: its maximum, and its size after a garbage collection.
func BenchmarkFrame(b *testing.B) {
	m := openMany(b)
	maxMemory := pageMemory(b)
	for b.Loop() {
		m.change()
		maxMemory = max(maxMemory, pageMemory(b))
	}
	const median = "frames_.sort((a, b) => a - b)[frames_.length >> 1]"
	b.ReportMetric(eval[float64](m.tab, median), "ms/frame")
	if _, err := chromedp.Call(m.ctx, heapprofiler.CollectGarbage, cdp.Empty{}); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(m.heap()/(1<<20), "MiB-heap")
	b.ReportMetric(pageMemory(b)/(1<<20), "MiB-collected")
	b.ReportMetric(maxMemory/(1<<20), "MiB-max")
	b.ReportMetric(eval[float64](m.tab, `(() => {
		frames_.length = 0;
		for (let i = 0; i < 10; i++) {
			for (const table of Object.values(tables)) {
				document.querySelector("#" + table.id + " tbody").replaceChildren();
				table.rows.forEach((row) => { row.view = null; row.changed = true; });
				table.drawn = [];
			}
			drawAll();
		}
		return `+median+`;
	})()`), "ms/new")
	b.ReportMetric(0, "ns/op") // meaningless, since each poll waits for the interval
}

// pageMemory returns the private memory of the largest renderer process, in bytes.
func pageMemory(b *testing.B) float64 {
	b.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		b.Fatal(err)
	}
	largest := 0.0
	for _, file := range files {
		command, _ := os.ReadFile(file) // the process may have ended
		if !strings.Contains(string(command), "--type=renderer") {
			continue
		}
		sizes, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "smaps_rollup"))
		var kilobytes float64
		if _, private, found := strings.Cut(string(sizes), "\nPrivate_Dirty:"); found {
			if _, err := fmt.Sscan(private, &kilobytes); err != nil {
				b.Fatal(err)
			}
		}
		largest = max(largest, kilobytes*1024)
	}
	return largest
}
