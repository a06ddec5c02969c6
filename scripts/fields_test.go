package scripts

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// A field that a script reads and the list lacks would be lost by an export, and passed over by the doctor.
func TestFieldsListsWhatTheScriptsName(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.lua")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %q and %v, want the scripts", files, err)
	}
	settings := slices.Concat(SettingsFields[:], []string{"Initialized"})
	quoted := regexp.MustCompile(`'([A-Z][a-z]+[A-Za-z]*)'`) // commands and sections are in one case
	found := make(map[string]bool)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range quoted.FindAllStringSubmatch(string(text), -1) {
			name := match[1]
			found[name] = true
			if FieldIndex(name) < 0 && !slices.Contains(settings, name) {
				t.Errorf("%s: got %s, want a field of Fields or of the settings", file, name)
			}
		}
	}
	for _, field := range Fields {
		if !found[field.Name] {
			t.Errorf("got %s in Fields, want only what a script names", field.Name)
		}
	}
}
