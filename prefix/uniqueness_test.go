package prefix_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hilo-id/hilo/prefix"
)

// These tests prove the guarantee of the package. Every ID that a few characters
// can spell is built, and the texts of the valid ones are compared. Each rule is
// then dropped in turn, to show that it is needed and that the search can fail.

// letters are the characters of each part, where "/" represents the separator.
type letters struct{ collection, prefix, tag string }

var (
	exact  = letters{collection: "a1-/", prefix: "a1-/", tag: "a1-"}
	folded = letters{collection: "aA/", prefix: "aA\u017F1-", tag: "aAs1"} // U+017F is the long s, which folds to "s"
)

// dropped is a rule that a search does not apply. An invalid part that it matches is used all the same. The zero value drops
// none.
type dropped struct {
	part    string
	pattern *regexp.Regexp
}

func (d dropped) keeps(part, value string, err error) bool {
	return err == nil || part == d.part && d.pattern.MatchString(value)
}

// clash builds IDs of such letters and returns two that are different and have
// the same text, both seen through view, or "" if there are none, and the number
// of texts compared.
func clash(l letters, separator string, without dropped, view func(string) string) (pair string, texts int) {
	var collections, prefixes, tags []string
	for _, c := range words(l.collection, separator, 2) {
		if without.keeps("collection", c, prefix.ValidateCollection(c, separator)) {
			collections = append(collections, c)
		}
	}
	for _, p := range words(l.prefix, separator, 4) {
		if without.keeps("prefix", p, prefix.Server{ServerPrefix: p}.Validate()) {
			prefixes = append(prefixes, p)
		}
	}
	for _, t := range words(l.tag, separator, 3) {
		if without.keeps("tag", t, prefix.Server{NodeTag: t}.Validate()) {
			tags = append(tags, t)
		}
	}
	numbers := []int64{1, 10, 11}
	if without.part == "number" {
		numbers = append(numbers, -1)
	}

	viewedPrefixes, viewedTags := viewed(prefixes, view), viewed(tags, view)
	seen := make(map[string]prefix.ID)
	for _, c := range collections {
		for i, p := range prefixes {
			for _, n := range numbers {
				for j, t := range tags {
					id := prefix.ID{Collection: c, ServerPrefix: p, Number: n, NodeTag: t}
					text := view(string(id.Append(nil, separator)))
					id = prefix.ID{Collection: view(c), ServerPrefix: viewedPrefixes[i], Number: n, NodeTag: viewedTags[j]}
					if other, found := seen[text]; found && other != id {
						return fmt.Sprintf("%s: %#v and %#v", text, other, id), len(seen)
					}
					seen[text] = id
				}
			}
		}
	}
	return "", len(seen)
}

// words returns all texts of up to longest letters, with "/" replaced by the separator.
func words(letters, separator string, longest int) []string {
	all, last := []string{""}, []string{""}
	for range longest {
		var longer []string
		for _, word := range last {
			for _, r := range letters {
				longer = append(longer, word+strings.Replace(string(r), "/", separator, 1))
			}
		}
		all, last = append(all, longer...), longer
	}
	return all
}

func viewed(texts []string, view func(string) string) []string {
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = view(text)
	}
	return all
}

func same(text string) string { return text }

func TestAppendReturnsDifferentTextsForDifferentIDs(t *testing.T) {
	t.Parallel()
	for _, separator := range []string{"/", "-", ":", "→"} {
		for _, tt := range []struct {
			name string
			letters
			view func(string) string
		}{
			{"as it is", exact, same},
			{"with letter case ignored", folded, prefix.Fold},
		} {
			t.Run(tt.name+", separator "+separator, func(t *testing.T) {
				t.Parallel()
				pair, texts := clash(tt.letters, separator, dropped{}, tt.view)
				if pair != "" {
					t.Errorf("got %s, want no two identifiers with one text", pair)
				}
				if texts < 5_000 {
					t.Errorf("got %d texts, want at least 5000", texts)
				}
			})
		}
	}
}

func TestValidateHasNoRuleTooMany(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, part, pattern string
		letters
		view func(string) string
	}{
		{"a collection holds no separator", "collection", `/`, exact, same},
		{"a prefix does not end in a digit", "prefix", `[0-9]$`, exact, same},
		{"a prefix does not end in a number and the start of a tag", "prefix", `[0-9]-[A-Za-z][A-Za-z0-9]*$`, exact, same},
		{"nor when folded", "prefix", "[0-9]-\u017F$", folded, prefix.Fold},
		{"a tag does not begin with a digit", "tag", `^[0-9]`, exact, same},
		{"a tag holds no hyphen", "tag", `-`, exact, same},
		{"a number is positive", "number", ``, exact, same},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			pair, _ := clash(tt.letters, "/", dropped{tt.part, regexp.MustCompile(tt.pattern)}, tt.view)
			if pair == "" {
				t.Fatal("got no two identifiers with one text without this rule, want some, or the test proves nothing")
			}
			t.Log(pair)
		})
	}
}

func TestParseReturnsTheExactPartsOfEveryShortText(t *testing.T) {
	t.Parallel()
	for _, separator := range []string{"/", "-", "→"} {
		for _, rest := range words("aA01-/", separator, 6) {
			checkParse(t, "a"+separator+rest, separator)
		}
		for _, text := range words("a01-/", separator, 5) {
			checkParse(t, text, separator)
		}
	}
}

func TestParseIsTheInverseOfAppend(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		separator := rapid.SampledFrom([]string{"/", "-", ":", "·", "→", "\uFFFD", "😀"}).Draw(t, "separator")
		id := anyID(separator).Draw(t, "id")
		got, err := prefix.Parse(string(id.Append(nil, separator)), separator)
		if err != nil {
			t.Fatal(err)
		}
		if got != id {
			t.Fatalf("got %#v, want %#v", got, id)
		}
	})
}

func TestParseReturnsOnlyValidParts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		separator := rapid.SampledFrom([]string{"/", "-", "→"}).Draw(t, "separator")
		text := rapid.StringOf(anyRune()).Draw(t, "text")
		checkParse(t, "orders"+separator+text, separator)
	})
}

// anyRune draws any character, but most often one of those the rules are about.
func anyRune() *rapid.Generator[rune] {
	return rapid.OneOf(rapid.SampledFrom([]rune("aZ019--//:→·_,é٣\u212Aſ\u0301\u200b")), rapid.Rune())
}

// anyID draws valid IDs of every shape and size.
func anyID(separator string) *rapid.Generator[prefix.ID] {
	return rapid.Custom(func(t *rapid.T) prefix.ID {
		return prefix.ID{
			Collection: rapid.StringOfN(anyRune(), 1, -1, 128).Filter(func(c string) bool {
				return prefix.ValidateCollection(c, separator) == nil
			}).Draw(t, "collection"),
			ServerPrefix: rapid.StringOfN(anyRune(), 0, -1, 64).Filter(func(p string) bool {
				return prefix.Server{ServerPrefix: p}.Validate() == nil
			}).Draw(t, "server prefix"),
			Number:  rapid.Int64Min(1).Draw(t, "number"),
			NodeTag: rapid.StringMatching(`([A-Za-z][A-Za-z0-9]{0,7})?`).Draw(t, "node tag"),
		}
	})
}
