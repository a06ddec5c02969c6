package entity

import (
	"encoding/json"
	"os"
	"reflect"
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
		name := typeName{base: row.Type}
		if name.plural() != row.Plural || name.collection() != row.Collection {
			t.Errorf("%s: %s, %s, want %s, %s", row.Type, name.plural(), name.collection(), row.Plural, row.Collection)
		}
	}
}

// FuzzTypeNames checks that every part of a parsed type name is a plain name, and that parsing loses nothing: the parts joined
// again parse to the same.
func FuzzTypeNames(f *testing.F) {
	for _, text := range []string{
		"shop", "Box[github.com/redis/go-redis/v9/internal/proto.RedisError]", "Box[[]int]", "Pair[github.com/hilo-id/hilo/allocator.Box[int],github.com/hilo-id/hilo/allocator.Box[example%2ecom/shop.Order]]",
		"Box[func(int, int) bool]", "Local[int]", "Box[example.com/shop.Order·1]",
		"", "[", "]", "A[", "A[]", "A[B", "A[B]]", "A[B]C", "A[B],", "A[,]", "A[B][C]", "A·", "A[B]·1", "A[B·]", "é[ß]", "A[İ]",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		name, ok := parseTypeName(text)
		if !ok {
			return
		}
		var put func(typeName) string
		put = func(n typeName) string {
			if strings.ContainsAny(n.base, "[],.*/(){} ·") || n.base == "" {
				t.Fatalf("%q has a name %q", text, n.base)
			}
			if len(n.args) == 0 {
				return n.base
			}
			args := make([]string, len(n.args))
			for i, arg := range n.args {
				args[i] = put(arg)
			}
			return n.base + "[" + strings.Join(args, ",") + "]"
		}
		bare := put(name)
		if again, ok := parseTypeName(bare); !ok || !reflect.DeepEqual(again, name) {
			t.Errorf("%q gave %s, which gives %+v, %v", text, bare, again, ok)
		}
		if strings.Count(bare, "[") != strings.Count(text, "[") || strings.Count(bare, ",") != strings.Count(text, ",") {
			t.Errorf("%q lost something: got %s, want %v, %v", text, bare, strings.Count(text, "["), strings.Count(text, ","))
		}
		if name.collection() == "" {
			t.Errorf("%q has no collection", text)
		}
	})
}
