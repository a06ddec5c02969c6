package term

import (
	"bytes"
	"cmp"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// usualWidth is the assumed width of a terminal that does not report its own, and the maximum width of help texts.
const usualWidth = 80

// lineWriter changes each line before it writes it. It buffers incomplete lines.
type lineWriter struct {
	w      io.Writer
	change func(line string) string
	begun  []byte // an incomplete line
}

func (l *lineWriter) Write(p []byte) (int, error) {
	var whole strings.Builder
	for line := range bytes.Lines(p) {
		l.begun = append(l.begun, line...)
		if text, ended := bytes.CutSuffix(l.begun, []byte("\n")); ended {
			whole.WriteString(l.change(string(text)) + "\n")
			l.begun = l.begun[:0]
		}
	}
	if _, err := io.WriteString(l.w, whole.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// HelpWriter returns a writer to w that wraps long lines. Continuation lines are aligned with the last column of the line,
// where columns are separated by two or more spaces.
func HelpWriter(w io.Writer) io.Writer {
	return &lineWriter{w: w, change: func(line string) string {
		line = strings.TrimRight(line, " ")
		return Wrap(line, Width(w), lastColumn(line))
	}}
}

// Fold returns a writer to w that wraps long lines if w is a terminal, and indents continuation lines.
func Fold(w io.Writer, indent int) io.Writer {
	return &lineWriter{w: w, change: func(line string) string { return Wrap(line, Columns(w), indent) }}
}

// Named returns a writer to w that prefixes each line with a name.
func Named(w io.Writer, name string) io.Writer {
	return &lineWriter{w: w, change: func(line string) string { return name + ": " + line }}
}

// lastColumn returns the position of the last column of a line, in characters.
func lastColumn(line string) int {
	at := strings.LastIndex(line, "  ")
	if at < 0 {
		return 0
	}
	return utf8.RuneCountInString(line[:at+2])
}

// Wrap wraps a line of text and indents the continuation lines. It keeps leading spaces and does not split words, even those
// longer than a line. 0 columns mean no limit.
func Wrap(text string, columns, indent int) string {
	if columns <= 0 || ansi.StringWidth(text) <= columns {
		return text
	}
	var lines []string
	words := strings.Split(text, " ")
	line := words[0]
	for _, word := range words[1:] {
		longer, mayEnd := line+" "+word, strings.Trim(line, " ") != "" && ansi.StringWidth(line) >= indent
		if mayEnd && word != "" && ansi.StringWidth(longer) > columns {
			lines, longer = append(lines, line), strings.Repeat(" ", indent)+word
		}
		line = longer
	}
	return strings.Join(append(lines, line), "\n")
}

// Paragraphs joins the lines of each paragraph, so that HelpWriter can wrap them. It keeps indented lines, which are tables.
func Paragraphs(text string) string {
	var lines []string
	joining := false
	for line := range strings.SplitSeq(text, "\n") {
		plain := line != "" && line[0] != ' '
		if plain && joining {
			lines[len(lines)-1] += " " + line
		} else {
			lines = append(lines, line)
		}
		joining = plain
	}
	return strings.Join(lines, "\n")
}

// Width returns the width for prose on w. It is at most usualWidth, since longer lines are hard to read.
func Width(w io.Writer) int { return min(cmp.Or(Columns(w), usualWidth), usualWidth) }

// Indent is the indentation of continuation lines in logs and results.
const Indent = 3
