package show

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/hilo-id/hilo/allocator/headroom"
	"github.com/hilo-id/hilo/cli/internal/term"
)

// The page without JavaScript has at most maxRows counters of a kind, and maxEvents events.
const (
	maxRows   = 500
	maxEvents = 20
)

var pageTemplate = sync.OnceValue(func() *template.Template {
	functions := template.FuncMap{"text": visible, "brief": term.Brief, "short": term.Short, "used": usedText}
	return template.Must(template.New("index.html").Funcs(functions).ParseFS(page, "page/index.html"))
})

// servePage serves the page with the current state, for browsers without JavaScript. The script of the page draws the same rows.
func (s *site) servePage(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	shown := s.snapshot(s.state, time.Now())
	s.mu.Unlock()
	moreCollections, moreIdentities := max(0, len(shown.Collections)-maxRows), max(0, len(shown.Identities)-maxRows)
	shown.Collections = shown.Collections[:len(shown.Collections)-moreCollections]
	shown.Identities = shown.Identities[:len(shown.Identities)-moreIdentities]
	slices.Reverse(shown.Events)
	shown.Events = shown.Events[:min(len(shown.Events), maxEvents)]
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = pageTemplate().Execute(w, struct {
		snapshot
		MoreCollections, MoreIdentities int
	}{shown, moreCollections, moreIdentities})
}

// usedText returns the used share of the numbers up to the next bound, or to the last one.
func usedText(all []headroom.Headroom) string {
	next, share := nextOf(all), "<0.01"
	switch used := next.Used; {
	case used == 0 || used == 100:
		share = fmt.Sprintf("%.0f", used)
	case used >= 1:
		share = fmt.Sprintf("%.1f", math.Floor(10*used)/10)
	case used >= 0.01:
		share = fmt.Sprintf("%.2f", used)
	}
	return share + "% of " + next.Bound
}

// visible is term.Visible, and returns unknown for no text.
func visible(text string) string { return term.Visible(cmp.Or(text, unknown)) }
