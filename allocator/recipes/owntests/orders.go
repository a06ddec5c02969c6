// Package owntests shows how code that uses hilo is tested: on a Redis in memory
// that starts empty, so that the ids are the same in each run.
package owntests

import (
	"context"

	"github.com/hilo-id/hilo/allocator"
)

// Order is what is tested.
type Order struct {
	ID   string
	Item string
}

// Place makes an order. It is the code of a user, which is handed the process's
// allocator.
func Place(ctx context.Context, ids *allocator.Allocator, item string) (Order, error) {
	order := Order{Item: item}
	_, err := ids.Assign(ctx, &order)
	return order, err
}
