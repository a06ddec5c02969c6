package term

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Style is how a stream shows text. The zero value is plain, as pipes, files and JSON are.
type Style struct {
	Color bool // red, yellow, green and bold
	Group bool // thousands separators
	Live  bool // a line can be redrawn
}

// grouped is the style of what only terminals show.
var grouped = Style{Group: true}

// StyleOf returns the style of w, which is plain unless w is a terminal. lookup reads an environment variable: NO_COLOR, unless
// it is empty, turns colour off (https://no-color.org), and TERM=dumb all that needs control sequences.
func StyleOf(w io.Writer, lookup func(name string) (string, bool)) Style {
	if !IsTerminal(w) {
		return Style{}
	}
	kind, _ := lookup("TERM")
	noColor, _ := lookup("NO_COLOR")
	return Style{Color: kind != "dumb" && noColor == "", Group: true, Live: kind != "dumb"}
}

// Red returns text as what is wrong looks.
func (s Style) Red(text string) string { return s.styled(ansi.Style{}.ForegroundColor(ansi.Red), text) }

// Yellow returns text as a warning looks.
func (s Style) Yellow(text string) string {
	return s.styled(ansi.Style{}.ForegroundColor(ansi.Yellow), text)
}

// Green returns text as what is right looks.
func (s Style) Green(text string) string {
	return s.styled(ansi.Style{}.ForegroundColor(ansi.Green), text)
}

// Bold returns text that stands out.
func (s Style) Bold(text string) string { return s.styled(ansi.Style{}.Bold(), text) }

func (s Style) styled(style ansi.Style, text string) string {
	if !s.Color || text == "" {
		return text
	}
	return style.Styled(text)
}

// Sprintf formats as fmt.Sprintf does. %d of an int or int64 and %f of a float64 have thousands separators in this style.
func (s Style) Sprintf(format string, values ...any) string {
	if !s.Group {
		return fmt.Sprintf(format, values...)
	}
	grouped := make([]any, len(values))
	for i, value := range values {
		switch value.(type) {
		case int, int64, float64:
			value = number{value}
		}
		grouped[i] = value
	}
	return fmt.Sprintf(format, grouped...)
}

// Number returns n in decimal.
func (s Style) Number(n int64) string {
	text := strconv.FormatInt(n, 10)
	if !s.Group {
		return text
	}
	return group(text)
}

// Plural returns a count and the thing counted: "1 identity", "2,000 identities".
func (s Style) Plural(n int64, thing string) string { return s.Number(n) + " " + noun(n, thing) }

// number is a number that is formatted with thousands separators.
type number struct{ value any }

func (n number) Format(f fmt.State, verb rune) {
	text := fmt.Sprintf(fmt.FormatString(f, verb), n.value)
	if verb == 'd' || verb == 'f' {
		width, _ := f.Width()
		if f.Flag('-') {
			width = -width
		}
		text = fmt.Sprintf("%*s", width, group(strings.TrimSpace(text)))
	}
	_, _ = io.WriteString(f, text)
}

// group puts a comma between each three digits of a decimal number, before its point if it has one. It works on text, so
// that every int64 stays exact.
func group(decimal string) string {
	first := strings.IndexAny(decimal, "0123456789")
	if first < 0 { // infinite, or not a number
		return decimal
	}
	whole, fraction, digits := decimal[first:], "", ""
	if point := strings.IndexByte(whole, '.'); point >= 0 {
		whole, fraction = whole[:point], whole[point:]
	}
	for ; len(whole) > 3; whole = whole[:len(whole)-3] {
		digits = "," + whole[len(whole)-3:] + digits
	}
	return decimal[:first] + whole + digits + fraction
}
