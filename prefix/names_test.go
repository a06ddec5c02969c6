package prefix_test

import (
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/hilo-id/hilo/prefix"
)

// demand compares an error with the expected text, which is "" for no error.
func demand(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Fatalf("got %v, want no error", err)
		}
		return
	}
	if err == nil {
		t.Fatalf("got no error, want %q", want)
	}
	if !errors.Is(err, prefix.ErrInvalid) {
		t.Errorf("got %v, want ErrInvalid", err)
	}
	if got := err.Error(); got != "invalid name: "+want {
		t.Errorf("got  %s\nwant invalid name: %s", got, want)
	}
}

func TestValidateCollectionNamesTheBrokenRule(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, collection, separator, want string }{
		{"a word", "orders", "/", ""},
		{"one byte", "o", "/", ""},
		{"spelling is kept", "UserGroups", "/", ""},
		{"any script", "Aufträge", "/", ""},
		{"a genuine replacement character", "a\uFFFDb", "/", ""},
		{"digits and hyphens", "1-A2", "/", ""},
		{"another separator's slash", "a/b", ":", ""},
		{"128 bytes", strings.Repeat("é", 64), "/", ""},
		{"empty", "", "/", `collection is empty: 1 to 128 bytes`},
		{"129 bytes", strings.Repeat("x", 129), "/", `collection "` + strings.Repeat("x", 64) + `"… is 129 bytes long: at most 128`},
		{"129 bytes cut at a whole character", "x" + strings.Repeat("é", 64), "/", `collection "x` + strings.Repeat("é", 31) + `"… is 129 bytes long: at most 128`},
		{"the separator within", "a/b", "/", `collection "a/b" holds the separator "/"`},
		{"the separator first", "/a", "/", `collection "/a" holds the separator "/"`},
		{"a separator of several bytes", "a→b", "→", `collection "a→b" holds the separator "→"`},
		{"a bar", "companies|", "/", `collection "companies|" holds "|"`},
		{"an opening brace", "{a", "/", `collection "{a" holds "{"`},
		{"a closing brace", "a}", "/", `collection "a}" holds "}"`},
		{"a space", "a b", "/", `collection "a b" holds white space`},
		{"a line feed", "a\n", "/", `collection "a\n" holds white space`},
		{"a no-break space", "a\u00a0b", "/", `collection "a\u00a0b" holds white space`},
		{"a NUL", "a\x00b", "/", `collection "a\x00b" holds a control character`},
		{"a C1 control", "a\u009bb", "/", `collection "a\u009bb" holds a control character`},
		{"bytes that are not UTF-8", "a\xffb", "/", `collection "a\xffb" is not valid UTF-8`},
		{"a private use character", "a\uE000\U0010FFFDb", "/", ""},
		{"an unassigned code point", "a\u0378b", "/", `collection "a\u0378b" holds U+0378, which Unicode ` + unicode.Version + ` has not assigned`},
		{"a noncharacter", "a\U0010FFFFb", "/", `collection "a\U0010ffffb" holds U+10FFFF, which Unicode ` + unicode.Version + ` has not assigned`},
		{"a surrogate", "a\xed\xa0\x80b", "/", `collection "a\xed\xa0\x80b" is not valid UTF-8`},
		{"an invalid separator", "orders", "", `separator is empty: exactly one character`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			demand(t, prefix.ValidateCollection(tt.collection, tt.separator), tt.want)
		})
	}
}

func TestValidateSeparatorNamesTheBrokenRule(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, separator, want string }{
		{"the default", prefix.DefaultSeparator, ""},
		{"a colon", ":", ""},
		{"a hyphen", "-", ""},
		{"several bytes", "→", ""},
		{"a genuine replacement character", "\uFFFD", ""},
		{"empty", "", `separator is empty: exactly one character`},
		{"two characters", "::", `separator "::" is more than one character`},
		{"a bar", "|", `separator is "|", which requests an identity`},
		{"a digit", "7", `separator "7" is a digit`},
		{"a digit of another script", "٣", `separator "٣" is a digit`},
		{"a letter", "x", `separator "x" is a letter`},
		{"a letter of another script", "щ", `separator "щ" is a letter`},
		{"a circled letter", "ⓐ", `separator "ⓐ" is a letter`},
		{"a Roman numeral", "Ⅷ", `separator "Ⅷ" is a letter`},
		{"a space", " ", `separator " " is white space`},
		{"a tab", "\t", `separator "\t" is white space`},
		{"a control", "\x1b", `separator "\x1b" is a control character`},
		{"an unassigned code point", "\u0378", `separator U+0378 is not assigned by Unicode ` + unicode.Version},
		{"a byte that is not UTF-8", "\xff", `separator "\xff" is not valid UTF-8`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			demand(t, prefix.ValidateSeparator(tt.separator), tt.want)
		})
	}
}

func TestValidateNamespaceNamesTheBrokenRule(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, namespace, want string }{
		{"a word", "Raven", ""},
		{"slashes, bars and colons", "shop/eu|1:2", ""},
		{"128 bytes", strings.Repeat("x", 128), ""},
		{"empty", "", `namespace is empty: 1 to 128 bytes`},
		{"129 bytes", strings.Repeat("x", 129), `namespace "` + strings.Repeat("x", 64) + `"… is 129 bytes long: at most 128`},
		{"a brace, which would end the hash tag", "a}b", `namespace "a}b" holds "}"`},
		{"a space", "a b", `namespace "a b" holds white space`},
		{"an unassigned code point", "a\u0378", `namespace "a\u0378" holds U+0378, which Unicode ` + unicode.Version + ` has not assigned`},
		{"a control", "a\x7f", `namespace "a\x7f" holds a control character`},
		{"bytes that are not UTF-8", "\xc3", `namespace "\xc3" is not valid UTF-8`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			demand(t, prefix.ValidateNamespace(tt.namespace), tt.want)
		})
	}
}

// Folding must keep what Parse relies on. Otherwise two identifiers could be one to a store that ignores letter case.
func TestFoldMapsValidCharactersToValidCharacters(t *testing.T) {
	t.Parallel()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		name := string(r)
		folded := prefix.Fold(name)
		if !utf8.ValidRune(r) || folded == name {
			continue
		}
		if again := prefix.Fold(folded); again != folded {
			t.Errorf("%q folds to %q: got %q for that, want %v", name, folded, again, folded)
		}
		if prefix.ValidateSeparator(name) == nil || prefix.ValidateSeparator(folded) == nil {
			t.Errorf("got a separator of %q or %q, to which it folds, want none", name, folded)
		}
		if err := prefix.ValidateCollection(folded, "/"); err != nil {
			t.Errorf("%q folded: got %v, want a valid name", name, err)
		}
		if err := (prefix.Server{ServerPrefix: folded}).Validate(); err != nil {
			t.Errorf("%q folded: got %v, want a valid prefix", name, err)
		}
	}
}
