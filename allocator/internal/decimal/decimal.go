// Package decimal formats the numbers of identifiers, and increments them in place. It imports nothing of hilo.
package decimal

import (
	"math/bits"
	"slices"
)

// Longest is how many digits a number has at most.
const Longest = 19

// pairs are the numbers 00 to 99.
const pairs = "0001020304050607080910111213141516171819" +
	"2021222324252627282930313233343536373839" +
	"4041424344454647484950515253545556575859" +
	"6061626364656667686970717273747576777879" +
	"8081828384858687888990919293949596979899"

// powersOfTen has the least number of n+1 digits at n.
var powersOfTen = [Longest]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9,
	1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18}

// Append is strconv.AppendInt for a number above 0, in two thirds of the time, since it writes to dst and not to a buffer
// from which it is copied.
func Append(dst []byte, number int64) []byte {
	rest := uint64(number)
	digits := bits.Len64(rest) * 1233 >> 12 // times the decimal logarithm of 2
	if digits == Longest || rest >= powersOfTen[digits] {
		digits++
	}
	dst = slices.Grow(dst, digits)
	end := len(dst) + digits
	dst = dst[:end]
	for ; rest >= 100; rest /= 100 {
		pair := rest % 100 * 2
		end -= 2
		dst[end], dst[end+1] = pairs[pair], pairs[pair+1]
	}
	if rest < 10 {
		dst[end-1] = '0' + byte(rest)
		return dst
	}
	dst[end-2], dst[end-1] = pairs[rest*2], pairs[rest*2+1]
	return dst
}

// Increment adds one to a decimal in place. It reports false for all nines.
func Increment(digits []byte) bool {
	for i := len(digits) - 1; i >= 0; i-- {
		if digits[i] < '9' {
			digits[i]++
			return true
		}
		digits[i] = '0'
	}
	return false
}
