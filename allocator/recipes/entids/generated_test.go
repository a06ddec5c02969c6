package entids

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"entgo.io/ent/entc"
	"entgo.io/ent/entc/gen"
)

var update = flag.Bool("update", false, "write the generated code anew")

//go:generate go test -run TestTheGeneratedCodeIsWhatTheSchemaSays -update .
func TestTheGeneratedCodeIsWhatTheSchemaSays(t *testing.T) {
	t.Parallel()
	target := t.TempDir()
	if *update {
		target = "ent"
	}
	err := entc.Generate("./ent/schema", &gen.Config{
		Target:  target,
		Package: "github.com/hilo-id/hilo/allocator/recipes/entids/ent",
		Schema:  "github.com/hilo-id/hilo/allocator/recipes/entids/ent/schema",
	})
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(target, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(target, path)
		if err != nil {
			return err
		}
		want, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if got, err := os.ReadFile(filepath.Join("ent", name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("ent/%s is not what ent generates (%v): go generate ./entids", name, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
