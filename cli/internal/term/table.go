package term

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Table is rows in columns as wide as they need, under a head; without one, it is a block of labels and texts. A column of
// numbers is aligned right.
type Table struct {
	Head  []string
	Cut   []int // columns that may be cut beside the first, as those of any length
	Drop  []int // columns that are left out, one after the other, before the first column is cut to less than minName
	Style Style // of the numbers

	rows   [][]string
	widths []int
	right  map[int]bool
}

// Right is a text that is aligned right, as numbers are.
type Right string

const (
	gap     = "  " // between two columns
	minName = 14
	minCut  = 10 // no column is cut to less
)

// Add adds a row of texts and numbers, Printable.
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

// Addf adds a row of a label and a text.
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

// Write writes the table, no wider than the terminal where it is one: in a block, lines that are too long are broken.
func (t *Table) Write(to io.Writer) error {
	lines := t.Lines(Columns(to), 0, len(t.rows))
	if t.Head == nil && len(t.widths) > 0 {
		to = Fold(to, Indent) // not under the value, where a long name would not fit
	}
	_, err := io.WriteString(to, strings.Join(append(lines, ""), "\n"))
	return err
}

// Lines returns the head and the rows from one up to another, as wide as if they were all rows. Where they are wider than
// room, columns are dropped and cut; a room of 0, where there is no terminal, has no limit. A block is not cut.
func (t *Table) Lines(room, from, to int) []string {
	rows := t.rows[from:to]
	if t.Head != nil {
		rows = append([][]string{t.Head}, rows...)
	}
	t.widen(t.Head)
	widths := slices.Clone(t.widths)
	if room > 0 && t.Head != nil {
		t.fit(widths, room)
	}
	lines := make([]string, len(rows))
	for l, row := range rows {
		var shown []string
		for i, cell := range row {
			if widths[i] < 0 {
				continue
			}
			cell = shortened(cell, widths[i])
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

// fit makes columns narrower until all fit into room. One that is left out gets a width below 0.
func (t *Table) fit(widths []int, room int) {
	const leftOut = -len(gap) // it adds nothing to the sum
	excess := -len(gap) - room
	for _, width := range widths {
		excess += len(gap) + width
	}
	for _, i := range t.Drop {
		if excess <= max(0, widths[0]-minName) {
			break
		}
		excess -= len(gap) + widths[i]
		widths[i] = leftOut
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

// shortened returns text in at most width columns, without its middle where it is longer.
func shortened(text string, width int) string {
	whole, half := ansi.StringWidth(text), (width-1)/2
	if whole <= width {
		return text
	}
	tail := ansi.TruncateLeft(text, whole-half, "")
	if ansi.StringWidth(tail) > half { // a character two columns wide was cut in two
		tail = ansi.TruncateLeft(text, whole-half+1, "")
	}
	return ansi.Truncate(text, width-1-ansi.StringWidth(tail), "") + "…" + tail
}
