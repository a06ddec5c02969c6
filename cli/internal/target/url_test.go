package target

import (
	"testing"
	"time"
)

func TestParseReadsTheName(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text, name, addr string
		embedded         bool
	}{
		{"redis://h?max_retries=1", "", "h:6379", false},
		{"north=redis://h?max_retries=1", "north", "h:6379", false},
		{"north=10.0.0.1:7", "north", "10.0.0.1:7", false},
		{"localhost:6379", "", "localhost:6379", false},
		{"embedded:", "", "the embedded server", true},
		{"north=embedded:", "north", "the embedded server", true},
	}
	for _, test := range tests {
		t.Run(test.text, func(t *testing.T) {
			t.Parallel()
			got, err := Parse(test.text)
			if err != nil || got.Name != test.name || got.Addr != test.addr || got.Embedded != test.embedded {
				t.Fatalf("got %+v, %v, want name %q, address %q, embedded %v", got, err, test.name, test.addr, test.embedded)
			}
			_, closeAll, err := got.Open(time.Second)
			if err != nil {
				t.Fatal(err)
			}
			closeAll()
		})
	}
}
func TestLabelIsShort(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"redis://h1:1/0":                            "h1:1",
		"north=redis://h1:1/0":                      "north",
		"redis+sentinel://h1:1,h2:2,h3:3/mymaster":  "mymaster",
		"north=redis+sentinel://h1:1,h2:2/mymaster": "north",
	} {
		if got, err := Parse(url); err != nil || got.Label() != want {
			t.Errorf("%s: got %q, %v, want %q", url, got.Label(), err, want)
		}
	}
}
