// Package allocatortest has an allocator for tests of programs that use hilo. Its server is in memory, in the process of the
// test, and new.
//
//	func TestPlaceAssignsAnID(t *testing.T) {
//		ids := allocatortest.New(t, allocator.Options{})
//		placed, err := place(t.Context(), ids)
//		if err != nil || placed.ID != "orders/1" {
//			t.Errorf("got %+v, %v, want orders/1", placed, err)
//		}
//	}
package allocatortest

import (
	"cmp"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
)

// New returns an allocator of an in-memory server that is initialised as hilo init would, without prefix and tag, so that the
// first order is orders/1. When the test ends the allocator is closed, and then the server. A test that closes the allocator
// itself may do so.
//
// The server is https://github.com/alicebob/miniredis. It keeps nothing, and cannot show a restart or a failover.
func New(t testing.TB, opts allocator.Options) *allocator.Allocator {
	t.Helper()
	server := miniredis.NewMiniRedis()
	if err := server.Start(); err != nil {
		t.Fatalf("allocatortest: starting the server: %v", err)
	}
	t.Cleanup(func() {
		if s := server.Server(); s != nil { // ends the commands in flight first, since INFO in one would read the closed server
			s.Close()
		}
		server.Close()
	})
	settings := prefix.NewKeys(cmp.Or(opts.Namespace, prefix.DefaultNamespace)).Server()
	server.HSet(settings, "Initialized", time.Now().UTC().Format(time.RFC3339))
	client, err := allocator.Connect(server.Addr())
	if err != nil {
		t.Fatalf("allocatortest: %v", err)
	}
	t.Cleanup(func() { _ = client.Close() })
	ids, err := allocator.New(client, opts)
	if err != nil {
		t.Fatalf("allocatortest: %s", strings.TrimPrefix(err.Error(), "allocator: "))
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		if err := ids.Close(ctx); err != nil {
			t.Errorf("allocatortest: closing the allocator: %v", err)
		}
	})
	return ids
}

// patience is how long the allocator may take to return its ranges, also on a busy machine.
const patience = time.Minute
