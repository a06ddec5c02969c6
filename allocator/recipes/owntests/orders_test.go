package owntests

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/allocatortest"
	"github.com/hilo-id/hilo/allocator/recipes/internal/stand"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newIDs returns an allocator that starts at 1, and its Redis. The cleanups close
// them in the reverse order when the test ends.
func newIDs(t *testing.T) (*allocator.Allocator, *miniredis.Miniredis) {
	t.Helper()
	server := miniredis.RunT(t)
	server.HSet("{Raven}/ServerPrefixForHilo", "Initialized", "by hand") // as hilo init does
	client := redis.NewClient(allocator.Tune(&redis.Options{Addr: server.Addr()}))
	t.Cleanup(func() { _ = client.Close() })
	ids, err := allocator.New(client, allocator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ids.Close(context.Background()) }) // t.Context() is canceled by then
	return ids, server
}

func TestPlaceNumbersOrdersFromOne(t *testing.T) {
	t.Parallel()
	ids := allocatortest.New(t, allocator.Options{})
	for _, want := range []string{"orders/1", "orders/2", "orders/3"} {
		if order, err := Place(t.Context(), ids, "tea"); err != nil || order.ID != want {
			t.Errorf("the order is %q, %v, want %q", order.ID, err, want)
		}
	}
}

func TestPlaceContinuesAboveTheCounter(t *testing.T) {
	t.Parallel()
	ids, server := newIDs(t)
	server.HSet("{Raven}/HiLo/orders", "Max", "4000")
	if order, err := Place(t.Context(), ids, "tea"); err != nil || order.ID != "orders/4001" {
		t.Errorf("the order is %q, %v", order.ID, err)
	}
}

func TestPlaceFailsWithoutRedis(t *testing.T) {
	t.Parallel()
	ids, server := newIDs(t)
	server.Close()
	if order, err := Place(t.Context(), ids, "tea"); !errors.Is(err, allocator.ErrUnavailable) || order.ID != "" {
		t.Errorf("the order is %q, %v", order.ID, err)
	}
}

func Example() {
	ids, stop := stand.ExampleIDs()
	defer stop()
	order, err := Place(context.Background(), ids, "tea")
	fmt.Println(order.ID, err)
	// Output: orders/1 <nil>
}
