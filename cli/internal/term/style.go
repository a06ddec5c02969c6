package term

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Style defines how text is formatted for a stream. The zero value is plain text, for pipes, files and JSON.
type Style struct {
	Color bool // red, yellow, green and bold
	Group bool // thousands separators
	Live  bool // a line can be redrawn
}

// grouped formats text that is only shown on terminals.
var grouped = Style{Group: true}

// StyleOf returns the style of w, which is plain unless w is a terminal. lookup reads an environment variable. A non-empty
// NO_COLOR disables colour (https://no-color.org), and TERM=dumb disables all control sequences.
func StyleOf(w io.Writer, lookup func(name string) (string, bool)) Style {
	if !IsTerminal(w) {
		return Style{}
	}
	kind, _ := lookup("TERM")
	noColor, _ := lookup("NO_COLOR")
	return Style{Color: kind != "dumb" && noColor == "", Group: true, Live: kind != "dumb"}
}

// Red returns text in the colour of errors.
func (s Style) Red(text string) string { return s.styled(ansi.Style{}.ForegroundColor(ansi.Red), text) }

// Yellow returns text in the colour of warnings.
func (s Style) Yellow(text string) string {
	return s.styled(ansi.Style{}.ForegroundColor(ansi.Yellow), text)
}

// Green returns text in the colour of success.
func (s Style) Green(text string) string {
	return s.styled(ansi.Style{}.ForegroundColor(ansi.Green), text)
}

// Bold returns text in bold.
func (s Style) Bold(text string) string { return s.styled(ansi.Style{}.Bold(), text) }

func (s Style) styled(style ansi.Style, text string) string {
	if !s.Color || text == "" {
		return text
	}
	return style.Styled(text)
}

// Sprintf formats like fmt.Sprintf. If s.Group is set, %d of an int or int64 and %f of a float64 have thousands separators.
func (s Style) Sprintf(format string, values ...any) string {
	if !s.Group {
		return fmt.Sprintf(format, values...)
	}
	args := make([]any, len(values))
	for i, value := range values {
		switch value.(type) {
		case int, int64, float64:
			value = number{value}
		}
		args[i] = value
	}
	return fmt.Sprintf(format, args...)
}

// Number returns n in decimal.
func (s Style) Number(n int64) string { return s.Sprintf("%d", n) }

// Digits returns text as Number does if it is a decimal number, and otherwise unchanged.
func (s Style) Digits(text string) string {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return s.Number(n)
	}
	return text
}

// Plural returns n and the noun in the matching number, such as "1 identity" and "2,000 identities".
func (s Style) Plural(n int64, thing string) string { return s.Number(n) + " " + noun(n, thing) }

// number formats its value with thousands separators.
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

// group inserts thousands separators into the integer part of a decimal number. It works on text, so that every int64 stays
// exact. Inf and NaN have no digits, and stay as they are.
func group(decimal string) string {
	point := strings.IndexByte(decimal+".", '.')
	for at := point - 3; at > 0 && '0' <= decimal[at-1] && decimal[at-1] <= '9'; at -= 3 {
		decimal = decimal[:at] + "," + decimal[at:]
	}
	return decimal
}
