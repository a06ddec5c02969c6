package cli

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// helpWidth is how wide help is, but on a terminal that is narrower.
const helpWidth = 80

// helpWriter breaks lines that are too long as they are written. What continues a line stands under its last column,
// which two spaces or more come before.
type helpWriter struct {
	w    io.Writer
	line []byte // begun and not ended
}

func (h *helpWriter) Write(p []byte) (int, error) {
	for rest := p; ; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		h.line = append(h.line, line...)
		if !ended {
			return len(p), nil
		}
		text := strings.TrimRight(string(h.line), " ")
		h.line, rest = h.line[:0], after
		if _, err := io.WriteString(h.w, wrapText(text, widthFor(h.w), lastColumn(text))+"\n"); err != nil {
			return 0, err
		}
	}
}

// lastColumn is where the last column of a line begins, counted in characters.
func lastColumn(line string) int {
	at := strings.LastIndex(line, "  ")
	if at < 0 {
		return 0
	}
	return utf8.RuneCountInString(line[:at+2])
}

// wrapText breaks text, of one line, into lines of so many columns, those after the first indented. The spaces that it
// begins with stay; a word that is too long stands alone. With 0 columns, where there is no terminal, it stays one line.
func wrapText(text string, columns, indent int) string {
	if columns <= 0 || uniseg.StringWidth(text) <= columns {
		return text
	}
	words := strings.Split(text, " ")
	var b strings.Builder
	width, begun := 0, false // begun: the line has a word that may stay alone on it
	for i, word := range words {
		length := uniseg.StringWidth(word)
		if begun && width >= indent && word != "" && width+1+length > columns {
			b.WriteString("\n" + strings.Repeat(" ", indent))
			width, begun = indent, false
		} else if i > 0 {
			b.WriteByte(' ')
			width++
		}
		b.WriteString(word)
		width += length
		begun = begun || word != ""
	}
	return b.String()
}

// paragraphs makes one line of each run of lines, for the helpWriter to break. Lines that are indented stay: they are
// tables.
func paragraphs(text string) string {
	var b strings.Builder
	joining := false // to the line before
	for line := range strings.SplitSeq(text, "\n") {
		indented := line == "" || strings.HasPrefix(line, " ")
		switch {
		case b.Len() == 0:
		case joining && !indented:
			b.WriteByte(' ')
		default:
			b.WriteByte('\n')
		}
		b.WriteString(line)
		joining = !indented
	}
	return b.String()
}

// widthFor is how wide text for a person is: not more than helpWidth, however wide the terminal is.
func widthFor(w io.Writer) int {
	if width := columns(w); width > 0 {
		return min(width, helpWidth)
	}
	return helpWidth
}

// folded writes whole lines, which it breaks where w is a terminal, and too narrow for them. What continues one is
// indented.
type folded struct {
	w      io.Writer
	indent int
}

func (f folded) Write(p []byte) (int, error) {
	width := columns(f.w)
	if width <= 0 {
		return f.w.Write(p)
	}
	var b strings.Builder
	for line := range strings.Lines(string(p)) {
		text, ended := strings.CutSuffix(line, "\n")
		b.WriteString(wrapText(text, width, f.indent))
		if ended {
			b.WriteByte('\n')
		}
	}
	if _, err := io.WriteString(f.w, b.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}
