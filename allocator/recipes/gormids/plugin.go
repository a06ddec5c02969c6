// Package gormids sets the keys of rows that GORM creates, without any code in
// the models.
package gormids

import (
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/hilo-id/hilo/allocator"
)

// Plugin sets the primary key of each row that is created without one: to a
// number where the key is an integer, to a text such as "orders/1" where it is a
// string. The keys of all rows are set before the statement is sent, from the
// ranges in hand. A string that ends in "/" or "|" is replaced by a server-side
// id or an identity; any other key that is not zero is kept. Keys of other
// types, composite keys and GORM's join tables are left alone, and so is every
// key of a statement that is not sent (ToSQL, DryRun).
type Plugin struct {
	IDs *allocator.Allocator
	// Collection returns the collection of a table; "" leaves its keys to the
	// database. Nil means the name of the table.
	Collection func(table string) string
}

// Name returns the name under which GORM registers the plugin.
func (Plugin) Name() string { return "hilo" }

// Initialize is called by db.Use. Ids are taken before all other steps of a
// create, so that only a transaction of the caller ever waits for Redis, and
// BeforeCreate of the model finds the key set.
func (p Plugin) Initialize(db *gorm.DB) error {
	return db.Callback().Create().Before("*").Register("hilo:take", p.take)
}

func (p Plugin) take(db *gorm.DB) {
	if db.Error != nil || db.DryRun || db.Statement.Schema == nil || db.Statement.Schema.PrioritizedPrimaryField == nil {
		return
	}
	key := db.Statement.Schema.PrioritizedPrimaryField
	kind := key.GORMDataType
	if (kind != schema.Int && kind != schema.Uint && kind != schema.String) || strings.EqualFold(string(key.DataType), "uuid") {
		return
	}
	name := db.Statement.Schema.Table
	if p.Collection != nil {
		name = p.Collection(name)
	}
	if name == "" {
		return
	}
	collection, err := p.IDs.Collection(name)
	if err == nil {
		f := filler{ctx: db.Statement.Context, ids: p.IDs, collection: collection, key: key, text: kind == schema.String}
		err = f.statement(db.Statement)
	}
	_ = db.AddError(err)
}
