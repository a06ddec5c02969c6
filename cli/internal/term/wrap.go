package term

import (
	"bytes"
	"cmp"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// usualWidth is the width of a terminal that does not report its own, and of help on one that is wider.
const usualWidth = 80

// lineWriter changes lines as they are written, each when it is whole.
type lineWriter struct {
	w      io.Writer
	change func(line string) string
	begun  []byte // a line that has not ended
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

// HelpWriter returns a writer to w that breaks lines that are too long. What continues a line stands under its last column,
// which two spaces or more come before.
func HelpWriter(w io.Writer) io.Writer {
	return &lineWriter{w: w, change: func(line string) string {
		line = strings.TrimRight(line, " ")
		return Wrap(line, Width(w), lastColumn(line))
	}}
}

// Fold returns a writer to w that breaks lines where w is a terminal, and too narrow for them. What continues one is indented.
func Fold(w io.Writer, indent int) io.Writer {
	return &lineWriter{w: w, change: func(line string) string { return Wrap(line, Columns(w), indent) }}
}

// Named returns a writer to w that begins each line with a name.
func Named(w io.Writer, name string) io.Writer {
	return &lineWriter{w: w, change: func(line string) string { return name + ": " + line }}
}

// lastColumn returns where the last column of a line begins, counted in characters.
func lastColumn(line string) int {
	at := strings.LastIndex(line, "  ")
	if at < 0 {
		return 0
	}
	return utf8.RuneCountInString(line[:at+2])
}

// Wrap breaks text, of one line, into lines of so many columns, those after the first indented. The spaces that it
// begins with stay; a word that is too long stands alone. With 0 columns, where there is no terminal, it stays one line.
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

// Paragraphs joins the lines of each paragraph into one, for the HelpWriter to break. Lines that are indented stay: they are
// tables.
func Paragraphs(text string) string {
	var lines []string
	joining := false // to the line before
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

// Width returns the width of text for a person: not more than usualWidth, however wide the terminal is.
func Width(w io.Writer) int { return min(cmp.Or(Columns(w), usualWidth), usualWidth) }

// Indent is before what continues a line of the log, or of a result.
const Indent = 3
