package faults

import (
	"os"
	"testing"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// lastOf takes 32 numbers of a collection, by a client of its own that is not closed, and returns the last.
func lastOf(t *testing.T, s *redistest.Server) int64 {
	t.Helper()
	ids, err := allocator.New(redistest.NewClient(t, s), allocator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ids.Close(t.Context()) })
	orders, err := ids.Collection("orders")
	if err != nil {
		t.Fatal(err)
	}
	batch, err := orders.Take(t.Context(), 32)
	if err != nil {
		t.Fatal(err)
	}
	return batch.Range().High
}

// A server loses a range and is replaced by another one before any range is taken from it again. The loss shows in the Origin of
// the counter, which an export has to carry.
func TestMoveAfterALossContinuesAboveIt(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		origin  bool // is left where it is
		repeats bool
	}{{"with Origin", true, false}, {"Origin removed by hand", false, true}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			eachServer(t, func(t *testing.T, b redistest.Binary) {
				from, to := redistest.Start(t, b, "--appendonly", "yes"), redistest.Start(t, b)
				lastOf(t, from)
				client := redistest.NewClient(t, from)
				if err := client.ConfigSet(t.Context(), "appendfsync", "always").Err(); err != nil { // the size is read after this
					t.Fatal(err)
				}
				kept := sizeOf(t, newestAOF(t, from))
				lost := lastOf(t, from)
				from.Kill()
				if err := os.Truncate(newestAOF(t, from), kept); err != nil {
					t.Fatal(err)
				}
				from.Restart()
				if !test.origin {
					if err := client.HDel(t.Context(), counterKey, "Origin").Err(); err != nil {
						t.Fatal(err)
					}
				}
				all, err := operate(t, from).Export(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, got := range operate(t, to).Import(t.Context(), all.States) {
					if got.Err != nil {
						t.Fatal(got.Err)
					}
				}
				if got := lastOf(t, to); (got <= lost) != test.repeats {
					t.Errorf("after %d was lost the other server issued up to %d, want numbers repeated: %v", lost, got, test.repeats)
				}
			})
		})
	}
}
