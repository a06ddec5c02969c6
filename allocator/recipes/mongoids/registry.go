// Package mongoids stores documents in MongoDB with ids of hilo as their _id.
package mongoids

import (
	"context"
	"fmt"
	"reflect"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
)

// Insert stores documents, pointers to structs whose member ID is a string with
// the tag `bson:"_id"`. It first sets each empty id to the next one of the type's
// collection.
func Insert[T any](ctx context.Context, to *mongo.Collection, ids *allocator.Allocator,
	documents ...*T) error {
	if len(documents) == 0 { // which the driver refuses
		return nil
	}
	for _, document := range documents {
		if _, err := ids.Assign(ctx, document); err != nil {
			return err
		}
	}
	_, err := to.InsertMany(ctx, documents)
	return err
}

// Registry returns the driver's registry with one more codec, which stores a
// prefix.ID, the result of NextID, as its text and parses it again. Pass it to
// options.Client().SetRegistry.
func Registry() *bson.Registry {
	registry := bson.NewRegistry()
	registry.RegisterTypeEncoder(reflect.TypeFor[prefix.ID](), bson.ValueEncoderFunc(encode))
	registry.RegisterTypeDecoder(reflect.TypeFor[prefix.ID](), bson.ValueDecoderFunc(decode))
	return registry
}

func encode(_ bson.EncodeContext, w bson.ValueWriter, v reflect.Value) error {
	id, ok := reflect.TypeAssert[prefix.ID](v)
	if !ok || id.Number == 0 {
		return fmt.Errorf("mongoids: %v is no identifier", v)
	}
	return w.WriteString(id.String())
}

func decode(_ bson.DecodeContext, r bson.ValueReader, v reflect.Value) error {
	text, err := r.ReadString()
	if err != nil {
		return err
	}
	id, err := prefix.Parse(text, "/")
	if err != nil {
		return err
	}
	v.Set(reflect.ValueOf(id))
	return nil
}
