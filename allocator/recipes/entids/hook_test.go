package entids

import (
	"context"
	"testing"

	"entgo.io/ent"
	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"github.com/hilo-id/hilo/allocator/recipes/internal/stand"
)

func TestMain(m *testing.M) {
	logging.Disable() // the tests cause the errors that go-redis reports
	goleak.VerifyTestMain(m)
}

func TestNumbersSetsTheKeysThatAreMissing(t *testing.T) {
	t.Parallel()
	orders, err := stand.IDs(t).Collection("orders")
	if err != nil {
		t.Fatal(err)
	}
	hook := Numbers(orders)(ent.MutateFunc(func(_ context.Context, m ent.Mutation) (ent.Value, error) {
		return m.(*mutation).id, nil
	}))
	for _, c := range []struct {
		name string
		m    ent.Mutation
		want int64
	}{
		{"a new row", &mutation{op: ent.OpCreate}, 1},
		{"a new row with a key", &mutation{op: ent.OpCreate, id: 4000}, 4000},
		{"another new row", &mutation{op: ent.OpCreate}, 2},
		{"a change", &mutation{op: ent.OpUpdateOne}, 0},
	} {
		if got, err := hook.Mutate(t.Context(), c.m); got != c.want || err != nil {
			t.Errorf("%s: got key %v, %v, want %d", c.name, got, err, c.want)
		}
	}
	if _, err := hook.Mutate(t.Context(), unkeyed{}); err == nil {
		t.Error("a schema without the key: got no error")
	}
}

// mutation has the methods that ent generates for field.Int64("id"), as far as a hook calls them.
type mutation struct {
	ent.Mutation
	op ent.Op
	id int64
}

func (m *mutation) Op() ent.Op        { return m.op }
func (m *mutation) ID() (int64, bool) { return m.id, m.id != 0 }
func (m *mutation) SetID(id int64)    { m.id = id }

// unkeyed is a mutation of a type whose key ent sets.
type unkeyed struct{ ent.Mutation }

func (unkeyed) Op() ent.Op   { return ent.OpCreate }
func (unkeyed) Type() string { return "Order" }
