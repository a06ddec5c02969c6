package term

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Table aligns rows in columns. A Table without a Head is a block of labels and texts. Columns of numbers are aligned right.
type Table struct {
	Head  []string
	Cut   []int // columns that may be truncated besides the first
	Drop  []int // columns to omit, in this order, before the first column is truncated to less than minName
	Style Style // format of the numbers

	rows   [][]string
	widths []int
	right  map[int]bool
}

// Right is a text that is aligned right.
type Right string

const (
	gap     = "  " // separates two columns
	minName = 14
	minCut  = 10 // minimum width of a truncated column
)

// Add adds a row of texts and numbers. It replaces characters that are not Printable.
func (t *Table) Add(cells ...any) {
	if t.right == nil {
		t.right = make(map[int]bool)
	}
	row := make([]string, len(cells))
	for i, cell := range cells {
		text, isText := cell.(string)
		switch n := cell.(type) {
		case string:
		case int, int64:
			text = t.Style.Sprintf("%d", n)
		default:
			text = fmt.Sprint(cell)
		}
		row[i] = Printable(text)
		t.right[i] = t.right[i] || !isText
	}
	t.rows = append(t.rows, row)
	t.widen(row)
}

// Addf adds a row of a label and a formatted text.
func (t *Table) Addf(label, format string, values ...any) {
	t.Add(label, t.Style.Sprintf(format, values...))
}

func (t *Table) widen(row []string) {
	for i, cell := range row {
		if i == len(t.widths) {
			t.widths = append(t.widths, 0)
		}
		t.widths[i] = max(t.widths[i], ansi.StringWidth(cell))
	}
}

// Write writes the table. If to is a terminal, Write fits the table into its width and wraps the long lines of a block.
func (t *Table) Write(to io.Writer) error {
	lines := t.Lines(Columns(to), 0, len(t.rows))
	if t.Head == nil {
		to = Fold(to, Indent) // a long name may not fit below the value
	}
	_, err := io.WriteString(to, strings.Join(append(lines, ""), "\n"))
	return err
}

// Lines returns the head and rows[from:to]. All rows determine the widths of the columns. If the table is wider than
// maxWidth, columns are omitted and truncated, except in a block. A maxWidth of 0 means no limit.
func (t *Table) Lines(maxWidth, from, to int) []string {
	rows := t.rows[from:to]
	if t.Head != nil {
		rows = append([][]string{t.Head}, rows...)
	}
	t.widen(t.Head)
	widths := slices.Clone(t.widths)
	if maxWidth > 0 && t.Head != nil {
		t.fit(widths, maxWidth)
	}
	lines := make([]string, len(rows))
	for l, row := range rows {
		var shown []string
		for i, cell := range row {
			if widths[i] < 0 {
				continue
			}
			cell = truncate(cell, widths[i])
			fill := strings.Repeat(" ", widths[i]-ansi.StringWidth(cell))
			if t.right[i] {
				cell = fill + cell
			} else if i < len(row)-1 {
				cell += fill
			}
			shown = append(shown, cell)
		}
		lines[l] = strings.Join(shown, gap)
	}
	return lines
}

// fit reduces widths until they fit into maxWidth. An omitted column has a negative width.
func (t *Table) fit(widths []int, maxWidth int) {
	const omitted = -len(gap) // adds nothing to the sum
	excess := -len(gap) - maxWidth
	for _, width := range widths {
		excess += len(gap) + width
	}
	for _, i := range t.Drop {
		if excess <= max(0, widths[0]-minName) {
			break
		}
		excess -= len(gap) + widths[i]
		widths[i] = omitted
	}
	for ; excess > 0; excess-- {
		widest := 0
		for _, i := range t.Cut {
			if widths[i] > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= minCut {
			return
		}
		widths[widest]--
	}
}

// truncate shortens text to at most width columns by omitting its middle.
func truncate(text string, width int) string {
	whole, half := ansi.StringWidth(text), (width-1)/2
	if whole <= width {
		return text
	}
	tail := ansi.TruncateLeft(text, whole-half, "")
	if ansi.StringWidth(tail) > half { // a character of two columns was split
		tail = ansi.TruncateLeft(text, whole-half+1, "")
	}
	return ansi.Truncate(text, width-1-ansi.StringWidth(tail), "") + "…" + tail
}
