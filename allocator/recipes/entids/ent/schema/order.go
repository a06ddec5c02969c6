// Package schema is the tables of the recipe for ent.
package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
)

// Order has its key from hilo: see entids.Numbers.
type Order struct{ ent.Schema }

// Fields has the key without a default: the hook gives it.
func (Order) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		field.String("item"),
	}
}
