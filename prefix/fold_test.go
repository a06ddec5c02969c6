package prefix_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/hilo-id/hilo/prefix"
)

// TestTwoCharactersShareAKeyExactlyWhenEqualFoldSaysSo looks at every pair that
// could differ from the rule: those that EqualFold holds equal are led through by
// SimpleFold, and those that have one key are found by grouping all.
func TestTwoCharactersShareAKeyExactlyWhenEqualFoldSaysSo(t *testing.T) {
	t.Parallel()
	for r := range rune(unicode.MaxRune + 1) {
		if unicode.Is(unicode.Cs, r) {
			continue
		}
		key := prefix.Fold(string(r))
		if !strings.EqualFold(string(r), key) { // which makes all equal that share the key
			t.Errorf("%q has the key %q, and EqualFold tells them apart", r, key)
		}
		if again := prefix.Fold(key); again != key {
			t.Errorf("%q is folded to %q, and that to %q", r, key, again)
		}
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			if prefix.Fold(string(other)) != key {
				t.Errorf("EqualFold holds %q and %q equal, and their keys differ", r, other)
			}
		}
	}
}

func TestNamesThatDifferInLetterCaseOnlyShareAKey(t *testing.T) {
	t.Parallel()
	for _, names := range [][]string{
		{"ΠΕΛΆΤΗΣ", "πελάτης", "πελάτησ", "Πελάτης"},
		{"Orders", "orders", "ORDERS", "order\u017f"},
		{"\u212aunden", "Kunden", "kunden"},
	} {
		for _, name := range names[1:] {
			if a, b := prefix.Fold(names[0]), prefix.Fold(name); a != b || !strings.EqualFold(names[0], name) {
				t.Errorf("%s has the key %s, and %s has %s", names[0], a, name, b)
			}
		}
	}
	if prefix.Fold("İd") == prefix.Fold("id") {
		t.Error("EqualFold tells İd and id apart, and they share a key")
	}
}

func FuzzFoldIsEqualFold(f *testing.F) {
	f.Add("ΠΕΛΆΤΗΣ", "πελάτης")
	f.Add("İ", "i")
	f.Add("a", "A")
	f.Fuzz(func(t *testing.T, a, b string) {
		if prefix.ValidateCollection(a, "/") != nil || prefix.ValidateCollection(b, "/") != nil {
			return
		}
		if (prefix.Fold(a) == prefix.Fold(b)) != strings.EqualFold(a, b) {
			t.Errorf("%q and %q: keys %q and %q", a, b, prefix.Fold(a), prefix.Fold(b))
		}
	})
}
