package gormids

import (
	"context"
	"fmt"
	"reflect"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/hilo-id/hilo/allocator"
)

// filler fills the keys of one statement's rows.
type filler struct {
	ctx        context.Context //nolint:containedctx // a filler lives as long as its statement, which has the same ctx
	ids        *allocator.Allocator
	collection *allocator.Collection
	key        *schema.Field
	text       bool
}

// statement fills all rows of a struct, a slice or maps.
func (f *filler) statement(s *gorm.Statement) error {
	switch rows := s.Dest.(type) {
	case map[string]any:
		return f.maps(rows)
	case *map[string]any:
		return f.maps(*rows)
	case []map[string]any:
		return f.maps(rows...)
	case *[]map[string]any:
		return f.maps(*rows...)
	}
	v := s.ReflectValue
	if v.Kind() == reflect.Struct {
		return f.row(v)
	}
	if v.Kind() == reflect.Slice || v.Kind() == reflect.Array {
		for i := range v.Len() {
			row := reflect.Indirect(v.Index(i))
			if !row.IsValid() { // GORM reports the error
				continue
			}
			if err := f.row(row); err != nil {
				return err
			}
		}
	}
	return nil
}

// row fills a struct. The common types of keys bypass GORM's setter, which takes
// as long as everything else here.
func (f *filler) row(v reflect.Value) error {
	field := f.key.ReflectValueOf(f.ctx, v)
	if f.text || !field.CanInt() {
		old, zero := f.key.ValueOf(f.ctx, v)
		id, err := f.fresh(old, zero)
		if err != nil || id == nil {
			return err
		}
		return f.key.Set(f.ctx, v, id)
	}
	if field.Int() != 0 {
		return nil
	}
	n, err := f.collection.NextNumber(f.ctx)
	if err != nil {
		return err
	}
	if field.OverflowInt(n) {
		return fmt.Errorf("gormids: %d does not fit into %s.%s", n, f.key.Schema.Name, f.key.Name)
	}
	field.SetInt(n)
	return nil
}

// maps fills rows that are maps, keyed by the names of fields or of columns.
func (f *filler) maps(rows ...map[string]any) error {
	for _, row := range rows {
		if row == nil {
			return fmt.Errorf("gormids: %w: a row is a nil map", gorm.ErrInvalidData)
		}
		name := f.key.DBName
		if _, ok := row[f.key.Name]; ok {
			name = f.key.Name
		}
		old := row[name]
		id, err := f.fresh(old, old == nil || reflect.ValueOf(old).IsZero())
		if err != nil {
			return err
		}
		if id != nil {
			row[name] = id
		}
	}
	return nil
}

// fresh returns the value that replaces old, or nil to keep it.
func (f *filler) fresh(old any, zero bool) (any, error) {
	switch v := reflect.Indirect(reflect.ValueOf(old)); {
	case zero && f.text:
		return f.collection.Next(f.ctx)
	case zero:
		return f.collection.NextNumber(f.ctx)
	case v.Kind() == reflect.String:
		return f.ids.Resolve(f.ctx, v.String())
	default:
		return nil, nil
	}
}
