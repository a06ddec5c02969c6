package show

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/hilo-id/hilo/allocator/headroom"
	"github.com/hilo-id/hilo/cli/internal/term"
)

// maxRows is the maximum number of counters in the HTML.
const maxRows = 500

// servePage serves the page with the current state, for browsers without JavaScript. The script of the page draws the same rows.
func (s *site) servePage(w http.ResponseWriter, _ *http.Request) {
	template, err := page.ReadFile("page/index.html")
	if err != nil {
		panic("bug: " + err.Error())
	}
	s.mu.Lock()
	shown := s.snapshot(s.state, time.Now())
	s.mu.Unlock()
	several := len(shown.Servers) > 1
	var servers, collections, identities, events strings.Builder
	for i := range shown.Servers {
		writeServer(&servers, &shown.Servers[i])
	}
	for i := range min(len(shown.Collections), maxRows) {
		c := &shown.Collections[i]
		writeCounter(&collections, several, c.Server, "collection", c.Collection, &c.shownCounter, strconv.FormatInt(c.Ranges, 10))
	}
	for i := range min(len(shown.Identities), maxRows) {
		c := &shown.Identities[i]
		writeCounter(&identities, several, c.Server, "identity", c.Identity, &c.shownCounter, "")
	}
	for i := range min(len(shown.Events), 20) {
		e := shown.Events[len(shown.Events)-1-i]
		fmt.Fprintf(&events, "<li>%s %s</li>\n", escape(e.Time), escape(e.Text))
	}
	replace := []string{
		"<!--namespace-->", escape(shown.Namespace), "<!--time-->", escape(shown.Time),
		"<!--servers-->", servers.String(), "<!--collections-->", collections.String(), "<!--identities-->", identities.String(),
		"<!--more-collections-->", more(len(shown.Collections)), "<!--more-identities-->", more(len(shown.Identities)), "<!--events-->", events.String(),
	}
	for name, f := range map[string]figure{
		"servers": shown.Summary.Servers, "headroom": shown.Summary.Headroom, "jumps": shown.Summary.Jumps, "rate": shown.Summary.Rate,
	} {
		replace = append(replace, "<!--figure-"+name+"-->", escape(f.Figure), "<!--detail-"+name+"-->", escape(f.Detail))
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = strings.NewReplacer(replace...).WriteString(w, string(template))
}

func more(n int) string {
	if n <= maxRows {
		return ""
	}
	return fmt.Sprintf("and %d more", n-maxRows)
}

func writeServer(w *strings.Builder, s *shownServer) {
	since, home := s.Since, unknown
	if s.Began {
		since = "top began, " + since
	}
	if s.Brief != "" {
		since += ": " + s.Brief
	}
	if s.Identities {
		home = "home"
	}
	fmt.Fprintf(w, "<tr role=\"row\" data-server=\"%s\">\n<th scope=\"row\" role=\"rowheader\"><bdi>%s</bdi></th>\n", html.EscapeString(s.Name), escape(s.Name))
	for _, field := range [][2]string{
		{"state", s.State}, {"since", since}, {"prefix", s.Prefix}, {"tag", s.Tag}, {"home", home}, {"durable", s.Durable}, {"version", s.Version},
		{"role", s.Role}, {"replicas", strconv.Itoa(s.Replicas)}, {"memory", s.MemoryPolicy}, {"persistence", s.Persistence},
		{"latency", term.Short(s.Latency)},
	} {
		fmt.Fprintf(w, "<td role=\"cell\" data-field=\"%s\">%s</td>\n", field[0], escape(cmp.Or(field[1], unknown)))
	}
	w.WriteString("</tr>\n")
}

// writeCounter writes a row. ranges is ignored for an identity, which has none.
func writeCounter(w *strings.Builder, several bool, server, kind, name string, c *shownCounter, ranges string) {
	of := ""
	if several {
		of = fmt.Sprintf(" data-of=\"%s\"", html.EscapeString(server))
	}
	fmt.Fprintf(w, "<tr role=\"row\" data-%s=\"%s\"%s>\n<th scope=\"row\" role=\"rowheader\"><bdi>%s</bdi></th>\n", kind, html.EscapeString(name), of, escape(name))
	rate := unknown
	if c.Rate != nil {
		rate = term.Brief(*c.Rate)
	}
	fields := [][2]string{{"server", server}, {"max", strconv.FormatInt(c.Max, 10)}, {"rate", rate}, {"trend", ""}, {"ranges", ranges},
		{"epoch", strconv.FormatInt(c.Epoch, 10)}, {"left", c.Left}, {"headroom", usedText(c.Headroom)}}
	for _, field := range fields {
		if kind == "identity" && field[0] == "ranges" {
			continue
		}
		fmt.Fprintf(w, "<td role=\"cell\" data-field=\"%s\">%s</td>\n", field[0], escape(field[1]))
	}
	w.WriteString("</tr>\n")
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

// escape escapes text for HTML. It replaces control characters and those that change the direction of text by their codes, such
// as \u202e.
func escape(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return html.EscapeString(b.String())
}
