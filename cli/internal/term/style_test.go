package term

import (
	"bytes"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

// fakeTerminal is a terminal that records its output.
type fakeTerminal struct {
	bytes.Buffer
	columns int
}

func (f *fakeTerminal) Columns() int { return f.columns }

// screen returns the lines on the screen. The cursor is in the last one.
func (f *fakeTerminal) screen() []string {
	lines := strings.Split(f.String(), "\n")
	for i, line := range lines {
		lines[i] = line[strings.LastIndex(line, "\r")+1:]
	}
	return lines
}

func TestStyleOfDependsOnStreamAndEnvironment(t *testing.T) {
	t.Parallel()
	file, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	terminal := &fakeTerminal{columns: 80}
	full := Style{Color: true, Group: true, Live: true}
	for _, test := range []struct {
		name        string
		w           io.Writer
		environment map[string]string
		want        Style
	}{
		{"a terminal", terminal, map[string]string{"TERM": "xterm"}, full},
		{"a terminal without TERM", terminal, nil, full},
		{"an empty NO_COLOR", terminal, map[string]string{"NO_COLOR": ""}, full},
		{"NO_COLOR", terminal, map[string]string{"NO_COLOR": "1"}, Style{Group: true, Live: true}},
		{"TERM=dumb", terminal, map[string]string{"TERM": "dumb"}, Style{Group: true}},
		{"a line that is redrawn on a terminal", full.NewLive(terminal), nil, full},
		{"a line that is redrawn on a pipe", Style{}.NewLive(new(bytes.Buffer)), nil, Style{}},
		{"a pipe", new(bytes.Buffer), nil, Style{}},
		{"a file", file, nil, Style{}},
		{"nothing", nil, nil, Style{}},
	} {
		lookup := func(name string) (string, bool) { value, ok := test.environment[name]; return value, ok }
		if got := StyleOf(test.w, lookup); got != test.want {
			t.Errorf("%s: got %+v, want %+v", test.name, got, test.want)
		}
	}
}

func TestStyleColorsAreOffByDefault(t *testing.T) {
	t.Parallel()
	plain, colored := Style{}, Style{Color: true}
	for name, test := range map[string]struct{ plain, colored, want string }{
		"red":    {plain.Red("fault"), colored.Red("fault"), "\x1b[31mfault\x1b[m"},
		"yellow": {plain.Yellow("fault"), colored.Yellow("fault"), "\x1b[33mfault\x1b[m"},
		"green":  {plain.Green("fault"), colored.Green("fault"), "\x1b[32mfault\x1b[m"},
		"bold":   {plain.Bold("fault"), colored.Bold("fault"), "\x1b[1mfault\x1b[m"},
	} {
		if test.plain != "fault" || test.colored != test.want || ansi.StringWidth(test.colored) != len("fault") {
			t.Errorf("%s: got %q and %q, want %q and %q", name, test.plain, test.colored, "fault", test.want)
		}
	}
	if got := colored.Red(""); got != "" {
		t.Errorf("no text: got %q", got)
	}
}

func TestNumberHasThousandsSeparators(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0: "0", 999: "999", 1000: "1,000", -999: "-999", -1000: "-1,000", 123456: "123,456", 1234567: "1,234,567",
		math.MaxInt64: "9,223,372,036,854,775,807", math.MinInt64: "-9,223,372,036,854,775,808",
	} {
		if got := grouped.Number(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
		if got, want := (Style{}).Number(n), strconv.FormatInt(n, 10); got != want {
			t.Errorf("plain: got %s, want %s", got, want)
		}
	}
}

func TestDigitsSeparatesThousandsOfNumbersOnly(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"1000000": "1,000,000", "2^31-1": "2^31-1", "12": "12"} {
		if got := (Style{Group: true}).Digits(text); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if got := (Style{}).Digits(text); got != text {
			t.Errorf("in plain text: got %s, want %s", got, text)
		}
	}
}

func TestNumberIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64().Draw(t, "n")
		text := grouped.Number(n)
		if got := strings.ReplaceAll(text, ",", ""); got != strconv.FormatInt(n, 10) {
			t.Fatalf("%d: got %s", n, text)
		}
		parts := strings.Split(strings.TrimPrefix(text, "-"), ",")
		for i, part := range parts {
			if len(part) > 3 || len(part) == 0 || i > 0 && len(part) < 3 {
				t.Fatalf("%d: %q of %s", n, part, text)
			}
		}
		if same := grouped.Sprintf("%d", n); same != text {
			t.Fatalf("%d: Sprintf returns %s, Number %s", n, same, text)
		}
	})
}

func TestSprintfHasThousandsSeparators(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		format         string
		value          any
		plain, grouped string
	}{
		{"%d", 1234, "1234", "1,234"},
		{"%d", int64(-1234), "-1234", "-1,234"},
		{"%6d|", 1234, "  1234|", " 1,234|"},
		{"%-6d|", 1234, "1234  |", "1,234 |"},
		{"%3d", 1234, "1234", "1,234"},
		{"%+d", 1234, "+1234", "+1,234"},
		{"%.0f", 1234.5, "1234", "1,234"},
		{"%.3f", -1234567.8901, "-1234567.890", "-1,234,567.890"},
		{"%8.1f", 1234.5, "  1234.5", " 1,234.5"},
		{"%.0f", math.Inf(1), "+Inf", "+Inf"},
		{"%.4g", 1234.5, "1234", "1234"}, // few digits
		{"%v", 1234, "1234", "1234"},
		{"%x", 1234, "4d2", "4d2"},
		{"%s", "orders/1234", "orders/1234", "orders/1234"},
	} {
		if got := (Style{}).Sprintf(test.format, test.value); got != test.plain {
			t.Errorf("%s of %v, plain: got %q, want %q", test.format, test.value, got, test.plain)
		}
		if got := grouped.Sprintf(test.format, test.value); got != test.grouped {
			t.Errorf("%s of %v: got %q, want %q", test.format, test.value, got, test.grouped)
		}
	}
}

func TestPluralInflectsNouns(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		n     int64
		thing string
		want  string
	}{
		{1, "identity", "1 identity"}, {2, "identity", "2 identities"}, {0, "identity", "0 identities"}, {1, "id", "1 id"},
		{2000, "id", "2,000 ids"}, {2, "key", "2 keys"}, {2, "prefix", "2 prefixes"}, {2, "process", "2 processes"},
		{2, "batch", "2 batches"}, {2, "round trip", "2 round trips"}, {-1, "day", "-1 days"},
	} {
		if got := grouped.Plural(test.n, test.thing); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
		if got, want := Plural(test.n, test.thing), strings.ReplaceAll(test.want, ",", ""); got != want {
			t.Errorf("plain: got %q, want %q", got, want)
		}
	}
}
