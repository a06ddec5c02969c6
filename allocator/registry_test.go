package allocator

import (
	"fmt"
	"testing"
)

func TestRegistryFindsNamesWhoseSlotsCollide(t *testing.T) {
	t.Parallel()
	var r registry
	added := make(map[string]*Collection)
	for i := range 10 * len(r.first) {
		c := &Collection{name: fmt.Sprintf("collection%d", i)}
		if _, ok := r.find(c.name); ok {
			t.Fatalf("%s, before it was added: got a collection, want none", c.name)
		}
		r.add(c)
		added[c.name] = c
	}
	for name, want := range added {
		if got, ok := r.find(name); !ok || got != want {
			t.Errorf("%s: got %v, %v, want %v", name, got, ok, want)
		}
	}
	r.each(func(c *Collection) { delete(added, c.name) })
	if len(added) > 0 {
		t.Errorf("got all but %d collections, want all", len(added))
	}
	if _, ok := r.find(""); ok {
		t.Error("the empty name: got a collection, want none")
	}
}
