// Package entids sets the keys of rows that ent creates, with a hook.
package entids

import (
	"context"
	"fmt"

	"entgo.io/ent"

	"github.com/hilo-id/hilo/allocator"
)

// keyed has the methods that ent generates for a type whose schema has field.Int64("id").
type keyed interface {
	ID() (id int64, exists bool)
	SetID(id int64)
}

// Numbers returns a hook that sets the key of each new row to the next number of
// a collection, unless a key is set: client.Order.Use(entids.Numbers(orders)).
func Numbers(collection *allocator.Collection) ent.Hook {
	return func(next ent.Mutator) ent.Mutator {
		create := func(ctx context.Context, m ent.Mutation) (ent.Value, error) {
			if !m.Op().Is(ent.OpCreate) {
				return next.Mutate(ctx, m)
			}
			row, ok := m.(keyed)
			if !ok {
				return nil, fmt.Errorf(`entids: %s has no int64 id`, m.Type())
			}
			if _, exists := row.ID(); !exists {
				id, err := collection.NextNumber(ctx)
				if err != nil {
					return nil, err
				}
				row.SetID(id)
			}
			return next.Mutate(ctx, m)
		}
		return ent.MutateFunc(create)
	}
}
