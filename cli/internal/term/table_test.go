package term

import (
	"strings"
	"testing"
)

func TestTruncateOmitsTheMiddle(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text  string
		width int
		want  string
	}{
		{"orders", 6, "orders"}, {"orders", 5, "or…rs"}, {"orders", 4, "or…s"}, {"orders", 1, "…"}, {"日本語日本語", 7, "日本…語"}, {"日本語", 6, "日本語"},
	} {
		if got := truncate(test.text, test.width); got != test.want {
			t.Errorf("%s in %d: %q, want %q", test.text, test.width, got, test.want)
		}
	}
}

func TestTableDropsColumnsBeforeItTruncatesNames(t *testing.T) {
	t.Parallel()
	table := Table{Head: []string{"NAME", "A", "B"}, Drop: []int{2, 1}}
	table.Add("a-name-of-20-letters", 1, 22)
	table.Add("b", 333, 4)
	for _, test := range []struct {
		width    int
		from, to int
		want     string
	}{
		{0, 0, 2, "NAME                    A   B|a-name-of-20-letters    1  22|b                     333   4"},
		{29, 0, 1, "NAME                    A   B|a-name-of-20-letters    1  22"},
		{23, 0, 1, "NAME              A   B|a-name-…etters    1  22"},
		{22, 1, 2, "NAME                 A|b                  333"},
		{19, 1, 2, "NAME              A|b               333"},
	} {
		if got := strings.Join(table.Lines(test.width, test.from, test.to), "|"); got != test.want {
			t.Errorf("in %d: %q, want %q", test.width, got, test.want)
		}
	}
}

func TestTableWithoutHeadAlignsTexts(t *testing.T) {
	t.Parallel()
	var block Table
	block.Addf("ids:", "%d", 5)
	block.Add("round trips:", "日本")
	block.Add("")
	var b strings.Builder
	if err := block.Write(&b); err != nil || b.String() != "ids:          5\nround trips:  日本\n\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}

func TestTableReplacesControlCharacters(t *testing.T) {
	t.Parallel()
	table := Table{Head: []string{"COLLECTION", "MAX"}}
	table.Add("\x1b[31mred\a\n", 5)
	if got, want := table.Lines(0, 0, 1)[1], "?[31mred??    5"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestTableHasThousandsSeparators(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		style Style
		want  string
	}{
		{Style{}, "NAME             MAX|orders/1234  1234567  1234|ids:            1234"},
		{grouped, "NAME               MAX|orders/1234  1,234,567  1234|ids:             1,234"},
	} {
		table := Table{Head: []string{"NAME", "MAX"}, Style: test.style}
		table.Add("orders/1234", int64(1234567), Right("1234"))
		table.Addf("ids:", "%d", 1234)
		if got := strings.Join(table.Lines(0, 0, 2), "|"); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}
