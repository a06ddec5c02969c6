package term

import (
	"testing"
)

func TestShortReturnsThreeDigits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		nanoseconds int64
		want        string
	}{{0, "0s"}, {999, "999ns"}, {1234, "1.23µs"}, {123_456, "123µs"}, {5_008_123_456, "5.01s"}} {
		if got := Short(test.nanoseconds); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

func TestBriefReturnsFiveCharacters(t *testing.T) {
	t.Parallel()
	for number, want := range map[float64]string{
		0: "0", 0.001: "0.00", 0.05: "0.05", 7.5: "7.50", 9.999: "10.0", 12.34: "12.3", 99.96: "100", 999.4: "999", 999.6: "1.0k",
		12345: "12.3k", 123456: "123k", 999_999: "1.0M", 1e18: "1.0E", 9e20: "900E",
	} {
		if got := Brief(number); got != want {
			t.Errorf("%g: got %q, want %q", number, got, want)
		}
	}
}
