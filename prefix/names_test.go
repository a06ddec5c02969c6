package prefix_test

import (
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

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
		{"an NFC é", "caf\u00e9", "/", ""},
		{"a Hangul syllable", "\ud55c\uae00", "/", ""},
		{"a combining character that nothing composes with", "q\u0301", "/", ""},
		{"30 combining characters in a row", "x" + strings.Repeat("\u0301", 30), "/", ""},
		{"a zero-width space", "orders\u200b", "/", `collection "orders\u200b" holds U+200B, a format character`},
		{"a zero-width joiner", "a\u200db", "/", `collection "a\u200db" holds U+200D, a format character`},
		{"a byte order mark", "\ufefforders", "/", `collection "\ufefforders" holds U+FEFF, a format character`},
		{"a soft hyphen", "or\u00adders", "/", `collection "or\u00adders" holds U+00AD, a format character`},
		{"a character that changes the direction", "a\u202eb", "/", `collection "a\u202eb" holds U+202E, a format character`},
		{"a tag of plane 14", "a\U000e0041", "/", `collection "a\U000e0041" holds U+E0041, a format character`},
		{"a decomposed é", "cafe\u0301", "/", "collection \"cafe\u0301\" is not in NFC: it holds U+0065 U+0301 where NFC has U+00E9; in NFC it is \"caf\u00e9\", which looks alike"},
		{"Hangul jamo", "\u1112\u1161\u11ab", "/", "collection \"\u1112\u1161\u11ab\" is not in NFC: it holds U+1112 U+1161 U+11AB where NFC has U+D55C; in NFC it is \"\ud55c\", which looks alike"},
		{"a syllable and a jamo", "\uac00\u11a8", "/", "collection \"\uac00\u11a8\" is not in NFC: it holds U+AC00 U+11A8 where NFC has U+AC01; in NFC it is \"\uac01\", which looks alike"},
		{"combining characters in another order", "q\u0301\u0323", "/", "collection \"q\u0301\u0323\" is not in NFC: it holds U+0071 U+0301 U+0323 where NFC has U+0071 U+0323 U+0301; in NFC it is \"q\u0323\u0301\", which looks alike"},
		{"the Kelvin sign", "\u212aelvin", "/", "collection \"\u212aelvin\" is not in NFC: it holds U+212A where NFC has U+004B; in NFC it is \"Kelvin\", which looks alike"},
		{"31 combining characters in a row", "x" + strings.Repeat("\u0301", 31), "/", "collection \"x" + strings.Repeat("\u0301", 31) + "\" holds more than 30 combining characters in a row"},
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
		{"a zero-width space", "\u200b", `separator U+200B is a format character`},
		{"a soft hyphen", "\u00ad", `separator U+00AD is a format character`},
		{"the Greek question mark", "\u037e", "separator \"\u037e\" is not in NFC: it holds U+037E where NFC has U+003B; in NFC it is \";\", which looks alike"},
		{"a character that NFC takes apart", "\u2adc", "separator \"\u2adc\" is not in NFC: it holds U+2ADC where NFC has U+2ADD U+0338; in NFC it is \"\u2add\u0338\", which looks alike"},
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
		{"an NFC é", "caf\u00e9", ""},
		{"a zero-width space", "Raven\u200b", `namespace "Raven\u200b" holds U+200B, a format character`},
		{"a decomposed é", "cafe\u0301", "namespace \"cafe\u0301\" is not in NFC: it holds U+0065 U+0301 where NFC has U+00E9; in NFC it is \"caf\u00e9\", which looks alike"},
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
		if errors.Is(prefix.ValidateCollection(name, "/"), prefix.ErrLookalike) { // such as U+1FBB, which is U+0386 in NFC
			continue
		}
		if err := prefix.ValidateCollection(folded, "/"); err != nil {
			t.Errorf("%q folded: got %v, want a valid name", name, err)
		}
		if err := (prefix.Server{ServerPrefix: folded}).Validate(); err != nil {
			t.Errorf("%q folded: got %v, want a valid prefix", name, err)
		}
	}
}

// Version 0.1 accepted these names, so that tools can find counters of them. It refused the others.
func TestErrLookalikeMatchesNamesThatEarlierVersionsAccepted(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"orders\u200b": true, "cafe\u0301": true, "x" + strings.Repeat("\u0301", 31): true,
		"a b": false, "a\x00": false, "a/b": false, "a\u0378": false, "a\xff": false, "": false, "orders": false,
	} {
		if got := errors.Is(prefix.ValidateCollection(name, "/"), prefix.ErrLookalike); got != want {
			t.Errorf("%q: got %t, want %t", name, got, want)
		}
	}
	for _, separator := range []string{"\u200b", "\u037e"} {
		if err := prefix.ValidateSeparator(separator); !errors.Is(err, prefix.ErrLookalike) {
			t.Errorf("separator %q: got %v, want ErrLookalike", separator, err)
		}
	}
}

// Every code point is tried alone and behind a letter, so that no category and no composition is left out.
func TestValidateCollectionRefusesAllFormatCharactersAndWhatIsNotNFC(t *testing.T) {
	t.Parallel()
	refused := 0
	for r := range rune(unicode.MaxRune + 1) {
		if r == '/' || strings.ContainsRune("|{}", r) || unicode.IsSpace(r) || unicode.In(r, unicode.Cc, unicode.Cs, unicode.Cn) {
			continue // refused by another rule
		}
		for _, name := range []string{string(r), "a" + string(r)} {
			err := prefix.ValidateCollection(name, "/")
			switch want := unicode.Is(unicode.Cf, r) || norm.NFC.String(name) != name; {
			case !want && err != nil, want && !errors.Is(err, prefix.ErrLookalike):
				t.Errorf("%+q: got %v, want ErrLookalike %t", name, err, want)
			case want:
				refused++
			}
		}
	}
	if refused < 2_000 {
		t.Errorf("got %d names refused, want at least 2000", refused)
	}
}
