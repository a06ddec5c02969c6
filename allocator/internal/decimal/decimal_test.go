package decimal

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

func TestAppendEqualsStrconv(t *testing.T) {
	t.Parallel()
	numbers := []int64{math.MaxInt64 - 1, math.MaxInt64}
	for power := int64(1); ; power *= 10 {
		numbers = append(numbers, power, power+1, max(power-1, 1))
		if power > math.MaxInt64/10 {
			break
		}
	}
	for bit := range 63 {
		numbers = append(numbers, 1<<bit, 1+rand.Int64N(1<<bit))
	}
	for _, number := range numbers {
		for _, dst := range [][]byte{nil, []byte("orders/"), append(make([]byte, 0, 64), "orders/"...)} {
			want := strconv.AppendInt(bytes.Clone(dst), number, 10)
			if got := Append(dst, number); !bytes.Equal(got, want) {
				t.Errorf("%d after %q is %q, want %q", number, dst, got, want)
			}
		}
	}
}

func TestIncrementCountsUntilAnotherDigitIsNeeded(t *testing.T) {
	t.Parallel()
	digits := []byte("100")
	for want := 101; want <= 999; want++ {
		if !Increment(digits) || string(digits) != strconv.Itoa(want) {
			t.Fatalf("after %d it says %q", want-1, digits)
		}
	}
	if Increment(digits) {
		t.Error("999 was incremented in three digits")
	}
}
