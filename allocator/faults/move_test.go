package faults

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/prefix"
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

// A range that was issued after the removal of the prefix is lost at a failover. If the removal was confirmed, the identity of
// the same name does not repeat the texts of that range. If it was not, the removal is lost too. The prefix that survives then
// means that no number was issued without one, and the texts are repeated.
func TestSettingsLostAtAFailoverRepeatNoText(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name      string
		confirmed bool
		repeats   bool
	}{{"removal confirmed", true, false}, {"removal not confirmed", false, true}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			eachServer(t, func(t *testing.T, b redistest.Binary) {
				primary := redistest.Start(t, b)
				north := prefix.Server{ServerPrefix: "NorthServer/", Identities: true}
				if err := operate(t, primary).SetServerPrefix(t.Context(), north); err != nil {
					t.Fatal(err)
				}
				replica := redistest.StartReplica(t, primary) // before the first range, since it changes the replication id
				lastOf(t, primary)
				primary.Await("to have replicated the range", func(ctx context.Context) bool {
					return replica.Client(t).HGet(ctx, counterKey, "Max").Val() == "32"
				})
				remove := func(timeout time.Duration) error {
					return operate(t, primary).WithTimeout(timeout).SetServerPrefix(t.Context(), prefix.Server{})
				}
				if test.confirmed {
					if err := remove(10 * time.Second); err != nil {
						t.Fatal(err)
					}
				}
				primary.PauseReplica(replica, filler)
				if !test.confirmed {
					if err := remove(50 * time.Millisecond); !errors.Is(err, admin.ErrNotConfirmed) {
						t.Fatalf("clearing the prefix beside a paused replica: %v, want ErrNotConfirmed", err)
					}
				}
				bare := lastOf(t, primary)
				primary.Kill()
				replica.Resume()
				replica.Promote()
				if test.confirmed { // the identity is refused until the server has a prefix again
					if err := operate(t, replica).SetServerPrefix(t.Context(), north); err != nil {
						t.Fatal(err)
					}
				}
				ids, err := allocator.New(redistest.NewClient(t, replica), allocator.Options{})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = ids.Close(t.Context()) })
				got, err := ids.NextIdentities(t.Context(), "orders", 64)
				if err != nil {
					t.Fatal(err)
				}
				if (got.Low <= bare) != test.repeats {
					t.Errorf("after orders/%d was lost the identity issued %d to %d, want texts repeated: %v", bare, got.Low, got.High, test.repeats)
				}
			})
		})
	}
}
