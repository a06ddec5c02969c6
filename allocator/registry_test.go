package allocator

import (
	"fmt"
	"testing"
)

func TestTheRegistryFindsEachNameAlsoWhereSlotsCollide(t *testing.T) {
	t.Parallel()
	var r registry
	added := make(map[string]*Collection)
	for i := range 10 * len(r.first) {
		c := &Collection{name: fmt.Sprintf("collection%d", i)}
		if _, ok := r.find(c.name); ok {
			t.Fatalf("%s was found before it was added", c.name)
		}
		r.add(c)
		added[c.name] = c
	}
	for name, want := range added {
		if got, ok := r.find(name); !ok || got != want {
			t.Errorf("%s: found %v, %v", name, got, ok)
		}
	}
	r.each(func(c *Collection) { delete(added, c.name) })
	if len(added) > 0 {
		t.Errorf("each left out %d", len(added))
	}
	if _, ok := r.find(""); ok {
		t.Error("the empty name was found")
	}
}
