package peerbench_test

import (
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

var text string // a package variable, so that what is stored in it is on the heap

//nolint:paralleltest // testing.AllocsPerRun counts what all goroutines allocate
func TestAllocationsAreTheTextAlone(t *testing.T) {
	ctx := t.Context()
	ids, orders := warmOrders(ctx, t, redistest.NewClient(t, startServer(t)))
	buffer := make([]byte, 0, 64)
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name string
		most float64
		call func()
	}{
		{"Collection.NextNumber", 0, func() {
			_, err := orders.NextNumber(ctx)
			must(err)
		}},
		{"Collection.NextID", 0, func() {
			_, err := orders.NextID(ctx)
			must(err)
		}},
		{"Collection.AppendNext", 0, func() {
			var err error
			buffer, err = orders.AppendNext(ctx, buffer[:0])
			must(err)
		}},
		{"Collection.Next", 1, func() {
			id, err := orders.Next(ctx)
			must(err)
			text = id
		}},
		{"Collection.TryNext", 1, func() {
			id, _ := orders.TryNext()
			text = id
		}},
		{"Allocator.NextNumber", 0, func() {
			_, err := ids.NextNumber(ctx, collectionName)
			must(err)
		}},
		{"Allocator.Next", 1, func() {
			id, err := ids.Next(ctx, collectionName)
			must(err)
			text = id
		}},
		{"Take(1000) and Batch.Strings", 3, func() {
			batch, err := orders.Take(ctx, 1000)
			must(err)
			text = batch.Strings()[0]
		}},
		{"1000 of Batch.All", 1000, func() {
			batch, err := orders.Take(ctx, 1000)
			must(err)
			for id := range batch.All() {
				text = id
			}
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			const runs = 100 // within one range, so that hardly any refill is among them
			if got := testing.AllocsPerRun(runs, test.call); got > test.most {
				t.Errorf("%v allocations, want at most %v", got, test.most)
			}
		})
	}
}
