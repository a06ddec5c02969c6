package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// badRows are what is wrong with the lines of a file.
type badRows struct {
	file string
	rows []badRow
}

type badRow struct {
	line int // 0: of no file
	text string
}

func (b *badRows) addf(line int, format string, values ...any) {
	text := fmt.Sprintf(format, values...)
	if line > 0 {
		text = fmt.Sprintf("line %d: %s", line, text)
	}
	b.rows = append(b.rows, badRow{line, text})
}

// failure says the first of them; nil: there is none.
func (b *badRows) failure(code int) error {
	const most = 10
	if len(b.rows) == 0 {
		return nil
	}
	slices.SortStableFunc(b.rows, func(x, y badRow) int { return cmp.Compare(x.line, y.line) })
	var texts []string
	for _, r := range b.rows[:min(most, len(b.rows))] {
		texts = append(texts, r.text)
	}
	if more := len(b.rows) - most; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return &failure{code: code, text: fmt.Sprintf("%s: nothing was written: %s", b.file, strings.Join(texts, "; "))}
}
