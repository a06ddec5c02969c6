package term

import (
	"strings"
	"testing"
)

func TestHelpWriterWrapsLongLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 20)
	tests := []struct{ name, text, want string }{
		{"a short line", "  a  b\n", "  a  b\n"},
		{"an empty line", "\n", "\n"},
		{"text", long + "\n", long[:79] + "\n" + long[80:99] + "\n"},
		{"columns", "   --flag  " + long + "\n", "   --flag  " + long[:69] + "\n           " + long[70:99] + "\n"},
		{"a word that is too long", strings.Repeat("x", 90) + " y\n", strings.Repeat("x", 90) + "\ny\n"},
		{"characters of several bytes", strings.Repeat("…", 80) + "\n", strings.Repeat("…", 80) + "\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			h := HelpWriter(&b)
			for i := range len(test.text) { // in writes of one byte
				if _, err := h.Write([]byte(test.text[i : i+1])); err != nil {
					t.Fatal(err)
				}
			}
			if b.String() != test.want {
				t.Errorf("%q, want %q", b.String(), test.want)
			}
		})
	}
}
