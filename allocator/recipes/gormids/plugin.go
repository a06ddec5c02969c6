// Package gormids gives the rows that GORM creates their keys from hilo, without
// a line in the models.
package gormids

import (
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/hilo-id/hilo/allocator"
)

// Plugin gives each row that is created without a primary key the next one of
// its table: a number where the key is an integer, a text such as "orders/1"
// where it is a string. All rows of a statement have theirs before it is sent,
// out of the ranges in hand. A string that ends in "/" or "|" asks for a
// server-side id or an identity; any other key that is not zero is kept. Keys of
// other types, composite ones and those of GORM's join tables are left alone.
type Plugin struct {
	IDs *allocator.Allocator
	// Collection names the collection of a table; "" leaves its keys to the
	// database. Default nil: the name of the table.
	Collection func(table string) string
}

// Name is what GORM knows the plugin by.
func (Plugin) Name() string { return "hilo" }

// Initialize is called by db.Use. Ids are taken before everything else that a
// create does, so that no transaction waits for Redis but the user's own, and
// the model's BeforeCreate finds the key filled.
func (p Plugin) Initialize(db *gorm.DB) error {
	return db.Callback().Create().Before("*").Register("hilo:take", p.take)
}

func (p Plugin) take(db *gorm.DB) {
	if db.Error != nil || db.Statement.Schema == nil || db.Statement.Schema.PrioritizedPrimaryField == nil {
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
