package scripts

import (
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// The results are compared with math/big, on numbers where doubles lose precision and where the halves of a number overflow.
func TestDecimalArithmeticIsExact(t *testing.T) {
	t.Parallel()
	script := redis.NewScript(decimalLua + `
		local a, b = ARGV[1], ARGV[2]
		local large, small = a, b
		if not above(a, b) then large, small = b, a end
		return {sum(a, b, 1), plus(a, b), sum(large, small, -1), above(a, b) and '1' or '0'}`)
	edges := []int64{0, 1, 999_999_999, 1_000_000_000, 1_000_000_001, 1 << 31, 1<<53 - 1, 1 << 53, 1<<53 + 1,
		999_999_999_999_999, 1_000_000_000_000_000, 1e18 - 1, 1e18, 1<<63 - 2, 1<<63 - 1}
	number := rapid.OneOf(rapid.SampledFrom(edges), rapid.Int64Min(0))
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		rapid.Check(t, func(rt *rapid.T) {
			x, y := number.Draw(rt, "a"), number.Draw(rt, "b")
			a, b := big.NewInt(x), big.NewInt(y)
			large, small, above := a, b, "0"
			if a.Cmp(b) > 0 {
				above = "1"
			} else {
				large, small = b, a
			}
			total := new(big.Int).Add(a, b)
			saturated := total.String()
			if !total.IsInt64() {
				saturated = strconv.FormatInt(math.MaxInt64, 10)
			}
			want := []any{total.String(), saturated, new(big.Int).Sub(large, small).String(), above}
			got, err := script.Run(t.Context(), client, nil, x, y).Slice()
			if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				rt.Fatalf("%d and %d: %v, %v, want %v", x, y, got, err, want)
			}
		})
	})
}

func TestDecimalAcceptsCanonicalTextsOnly(t *testing.T) {
	t.Parallel()
	script := redis.NewScript(decimalLua + `
		return decimal(ARGV[1]) and ARGV[1] or 'none'`)
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		for text, want := range map[string]string{
			"0": "0", "7": "7", "1000000000": "1000000000", "9223372036854775807": "9223372036854775807",
			"9223372036854775808": "none", "10000000000000000000": "none", "": "none", "00": "none", "01": "none",
			"-1": "none", "+1": "none", "1 ": "none", "1.0": "none", "1e3": "none", "0x1": "none", "nan": "none", "1\n": "none",
		} {
			if got, err := script.Run(t.Context(), client, nil, text).Text(); err != nil || got != want {
				t.Errorf("%q: %q, %v, want %q", text, got, err, want)
			}
		}
	})
}

// On a 32-bit server '%d' formats a C long of 32 bits. Redis 7.0.15 for i386 formats 5000000000 as -2147483648. Such servers are
// rarely tested, so the test reads the source. A line that uses '%d' must explain why its number is below 2^31.
func TestScriptsFormatNoNumberAsACLong(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.lua")
	if err != nil || len(files) < 10 {
		t.Fatalf("got scripts %v, %v, want at least 10", files, err)
	}
	long := regexp.MustCompile(`format\([^)]*%[-+ #0-9.]*[diouxXc]`)
	if !long.MatchString(`format('%09d', n)`) {
		t.Error("got no match of %09d, want one")
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(source)) {
			if long.MatchString(line) && !strings.Contains(line, "2^31") {
				t.Errorf("%s: got %s, want a comment that bounds the number", file, line)
			}
		}
	}
}
