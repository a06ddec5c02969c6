package prefix_test

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/hilo-id/hilo/prefix"
)

// A key that changes with the version of Unicode would start a counter from 1 again. When this fails with newer tables, compare
// the characters that were assigned before.
func TestFoldReturnsTheKeysOfUnicode15(t *testing.T) {
	t.Parallel()
	if unicode.Version != "15.0.0" {
		t.Errorf("Unicode: got %s, want 15.0.0: compare the keys of characters assigned before, then update this test", unicode.Version)
	}
	sum := sha256.New()
	for r := range rune(unicode.MaxRune + 1) {
		if folded := prefix.Fold(string(r)); utf8.ValidRune(r) && folded != string(r) {
			fmt.Fprintf(sum, "%U %s\n", r, folded)
		}
	}
	const want = "3c388788e6e8a0e3c0aeb74870661651eccaa6d586a9e86df48306e023631b04"
	if got := fmt.Sprintf("%x", sum.Sum(nil)); got != want {
		t.Errorf("keys: got %s, want %s", got, want)
	}
}
