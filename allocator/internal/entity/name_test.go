package entity

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPluralMatchesTheVectors(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../testdata/collections.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct{ Type, Plural, Collection string }
	if err := json.Unmarshal(data, &rows); err != nil || len(rows) == 0 {
		t.Fatal(len(rows), err)
	}
	for _, row := range rows {
		plural, _ := pluralOf(row.Type)
		if got, ok := Collection(row.Type); !ok || plural != row.Plural || got != row.Collection {
			t.Errorf("%s: got %s, %s, %t, want %s, %s, true", row.Type, plural, got, ok, row.Plural, row.Collection)
		}
	}
}

// The plural is made of names in order, whatever the nesting. The test builds the tree, which the code does without.
func TestPluralOfFollowsTheNestingOfTypes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var tree func(depth int, name *rapid.Generator[string]) (text, plural string)
		tree = func(depth int, name *rapid.Generator[string]) (text, plural string) {
			base := name.Draw(t, "name")
			path := rapid.SampledFrom([]string{"", "shop.", "example.com/shop.", "example%2ecom/shop."}).Draw(t, "path")
			text, plural = path+base, plurals().Plural(strings.ToUpper(base[:1])+base[1:])
			if n := rapid.IntRange(0, depth).Draw(t, "arguments"); n > 0 {
				texts, pluralTexts := make([]string, n), make([]string, n)
				for i := range n {
					texts[i], pluralTexts[i] = tree(depth-1, rapid.StringMatching(`[A-Za-z][a-z0-9]{2,8}s`))
				}
				text += "[" + strings.Join(texts, ",") + "]"
				plural += "Of" + strings.Join(pluralTexts, "And")
			}
			return text + rapid.SampledFrom([]string{"", "·1", "·27"}).Draw(t, "function"), plural
		}
		text, want := tree(3, rapid.StringMatching(`[A-Z][a-z0-9]{2,8}`))
		if got, ok := pluralOf(text); !ok || got != want {
			t.Errorf("%s: got %s, %t, want %s, true", text, got, ok, want)
		}
	})
}

// FuzzTypeNames checks that the plural of a type name is plain text, and that parsing loses no argument.
func FuzzTypeNames(f *testing.F) {
	for _, text := range []string{
		"shop", "Box[github.com/redis/go-redis/v9/internal/proto.RedisError]", "Box[[]int]", "Pair[github.com/hilo-id/hilo/allocator.Box[int],github.com/hilo-id/hilo/allocator.Box[example%2ecom/shop.Order]]",
		"Box[func(int, int) bool]", "Local[int]", "Box[example.com/shop.Order·1]",
		"", "[", "]", "A[", "A[]", "A[B", "A[B]]", "A[B]C", "A[B],", "A[,]", "A[B][C]", "A·", "A[B]·1", "A[B·]", "é[ß]", "A[İ]",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := pluralOf(text)
		if !ok {
			return
		}
		if strings.ContainsAny(got, "[],.*/(){} ·") || got == "" {
			t.Errorf("%q: got %q, want names alone", text, got)
		}
		if strings.Count(got, "Of") < strings.Count(text, "[") || strings.Count(got, "And") < strings.Count(text, ",") {
			t.Errorf("%q: got %s, want an Of for each bracket and an And for each comma", text, got)
		}
	})
}
