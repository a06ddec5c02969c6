package prefix_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/hilo-id/hilo/prefix"
)

// TestFoldAgreesWithEqualFoldOnAllCharacters examines every pair that could break the rule. EqualFold treats the orbit of
// SimpleFold as equal, and every character is compared with the key of its group.
func TestFoldAgreesWithEqualFoldOnAllCharacters(t *testing.T) {
	t.Parallel()
	for r := range rune(unicode.MaxRune + 1) {
		if unicode.Is(unicode.Cs, r) {
			continue
		}
		key := prefix.Fold(string(r))
		if !strings.EqualFold(string(r), key) { // which makes all equal that share the key
			t.Errorf("%q: got the key %q, want one that EqualFold reports equal", r, key)
		}
		if again := prefix.Fold(key); again != key {
			t.Errorf("%q is folded to %q: got %q for that, want %v", r, key, again, key)
		}
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			if prefix.Fold(string(other)) != key {
				t.Errorf("EqualFold holds %q and %q equal: got another key, want %v", r, other, key)
			}
		}
	}
}

func TestFoldReturnsOneKeyForNamesThatDifferInCase(t *testing.T) {
	t.Parallel()
	for _, names := range [][]string{
		{"ΠΕΛΆΤΗΣ", "πελάτης", "πελάτησ", "Πελάτης"},
		{"Orders", "orders", "ORDERS", "order\u017f"},
		{"\u212aunden", "Kunden", "kunden"},
	} {
		for _, name := range names[1:] {
			if a, b := prefix.Fold(names[0]), prefix.Fold(name); a != b || !strings.EqualFold(names[0], name) {
				t.Errorf("got the keys %s for %s and %s for %s, want one", a, names[0], b, name)
			}
		}
	}
	if prefix.Fold("İd") == prefix.Fold("id") {
		t.Error("got one key for İd and id, want two, because EqualFold reports that they differ")
	}
}

func FuzzFold(f *testing.F) {
	f.Add("ΠΕΛΆΤΗΣ", "πελάτης")
	f.Add("İ", "i")
	f.Add("a", "A")
	f.Fuzz(func(t *testing.T, a, b string) {
		if prefix.ValidateCollection(a, "/") != nil || prefix.ValidateCollection(b, "/") != nil {
			return
		}
		if (prefix.Fold(a) == prefix.Fold(b)) != strings.EqualFold(a, b) {
			t.Errorf("%q and %q: got keys %q and %q, want equal %v", a, b, prefix.Fold(a), prefix.Fold(b), strings.EqualFold(a, b))
		}
	})
}
