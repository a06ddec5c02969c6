package cli

import (
	"bufio"
	"strings"

	"github.com/rivo/uniseg"
)

// table is rows under a head, in columns as wide as they need.
type table struct {
	head  []string
	cut   []int  // columns that may be cut beside the first, as those whose length is anybody's
	right []bool // the columns that are set to the right, as numbers are
	rows  [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// gap is between two columns.
const gap = "  "

// writeTable writes a table. On a terminal that is too narrow the widest of the columns that may be cut are cut.
func (g globals) writeTable(t table) error {
	widths := t.widths()
	if room := columns(g.Stdout); room > 0 {
		t.fit(widths, room)
	}
	w := bufio.NewWriter(g.Stdout)
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			cell = shortened(cell, widths[i])
			fill := strings.Repeat(" ", widths[i]-uniseg.StringWidth(cell))
			switch {
			case t.right[i]:
				cell = fill + cell
			case i < len(row)-1:
				cell += fill
			}
			if i > 0 {
				cell = gap + cell
			}
			_, _ = w.WriteString(cell) // the flush says it
		}
		_ = w.WriteByte('\n')
	}
	return written(w.Flush())
}

// widths are those that each column needs.
func (t *table) widths() []int {
	widths := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], uniseg.StringWidth(cell))
		}
	}
	return widths
}

// over is by how much columns of these widths are wider than room.
func over(widths []int, room int) int {
	over := len(gap)*(len(widths)-1) - room
	for _, width := range widths {
		over += width
	}
	return over
}

// fit makes columns narrower until all fit into so many.
func (t *table) fit(widths []int, room int) {
	const least = 10
	for excess := over(widths, room); excess > 0; excess-- {
		widest := 0
		for _, i := range t.cut {
			if widths[i] > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= least {
			return
		}
		widths[widest]--
	}
}

// shortened is text in at most width columns, its middle left out where it is longer.
func shortened(text string, width int) string {
	if uniseg.StringWidth(text) <= width {
		return text
	}
	var clusters []string
	for rest := uniseg.NewGraphemes(text); rest.Next(); {
		clusters = append(clusters, rest.Str())
	}
	head, tail := "", ""
	for low, high := 0, len(clusters)-1; low <= high; low, high = low+1, high-1 {
		if uniseg.StringWidth(head+clusters[low]+"…"+tail) > width {
			break
		}
		head += clusters[low]
		if low == high || uniseg.StringWidth(head+"…"+clusters[high]+tail) > width {
			break
		}
		tail = clusters[high] + tail
	}
	return head + "…" + tail
}
