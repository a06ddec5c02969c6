package entity

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
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
		if got, ok := collection(row.Type); !ok || plural != row.Plural || got != row.Collection {
			t.Errorf("%s: got %s, %s, %t, want %s, %s, true", row.Type, plural, got, ok, row.Plural, row.Collection)
		}
	}
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
