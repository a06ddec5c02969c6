package counters

import "testing"

func TestGlobMatchesAsInRedisInAnyLetterCase(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pattern, key string
		want         bool
	}{
		{"orders/*", "orders/1", true}, {"orders/*", "Orders/600", true}, {"orders/*", "orderſ/1", true}, {"orders/*", "order/1", false},
		{"Größe/*", "GRÖSSE/1", false}, {"Größe/*", "GRÖẞE/1", true}, {"*", "", true}, {"**", "x", true}, {"a*b*c", "aXbbYc", true}, {"a*b*c", "aXc", false},
		{"ord?rs", "ordérs", true}, {"ord?rs", "ordrs", false}, {"[a-c]x", "BX", true}, {"[^a-c]x", "BX", false}, {"[^a-c]x", "dx", true},
		{`a\*`, "a*", true}, {`a\*`, "ab", false}, {`\o`, "O", true}, {`[\]a]`, "]", true}, {"[", "[", false}, {"", "", true}, {"", "a", false},
		{"[c-a]", "b", true}, {"a", "ab", false},
	} {
		g := newGlob(test.pattern)
		if got := g.matches(test.key); got != test.want {
			t.Errorf("%q of %q: got %v, want %v", test.pattern, test.key, got, test.want)
		}
	}
}

func TestGlobForRedisIsWider(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		"orders/*": "[oO][rR][dD][eE][rR]*/*", "{app}:9": "{[aA][pP][pP]}:9", "Größe": "[gG][rR]**[eE]", `\*[a-c]?`: `\***`, "[ab": "*",
	} {
		if got := newGlob(pattern).wider; got != want {
			t.Errorf("%q: got %q, want %q", pattern, got, want)
		}
	}
}

func TestCutFoldedIgnoresLetterCase(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text, head, want string
		found            bool
	}{{"App:orders/1", "app:", "orders/1", true}, {"orders/1", "app:", "", false}, {"ap", "app:", "", false}, {"x", "", "x", true}} {
		if got, found := cutFolded(test.text, test.head); got != test.want || found != test.found {
			t.Errorf("%q without %q: got %q, %v", test.text, test.head, got, found)
		}
	}
}
