// Package owntests shows how to test code that uses hilo: on a Redis in memory
// that starts empty, so that the ids are the same in each run.
package owntests

import (
	"context"

	"github.com/hilo-id/hilo/allocator"
)

// Order is a model of the program under test.
type Order struct {
	ID   string
	Item string
}

// Place creates an order with the allocator of the program.
func Place(ctx context.Context, ids *allocator.Allocator, item string) (Order, error) {
	order := Order{Item: item}
	_, err := ids.Assign(ctx, &order)
	return order, err
}
