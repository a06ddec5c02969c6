package stand

import (
	"context"
	"testing"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/allocator/recipes/twomasters"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// Masters returns two new miniredis with the intervals of package twomasters.
func Masters(t testing.TB) (north, south *redistest.Server) {
	t.Helper()
	north, south = redistest.StartMini(t), redistest.StartMini(t)
	for server, settings := range map[*redistest.Server]prefix.Server{
		north: {Identities: true, MaxValue: twomasters.NorthMax},
		south: {MinValue: twomasters.NorthMax + 1, MaxValue: twomasters.SouthMax},
	} {
		if err := Operator(t, server).SetServerPrefix(t.Context(), settings); err != nil {
			t.Fatal(err)
		}
	}
	return north, south
}

// Operator returns the operator's side of a server.
func Operator(t testing.TB, server *redistest.Server) *admin.Admin {
	t.Helper()
	operator, err := admin.New(redistest.NewClient(t, server), admin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return operator
}

// Both returns an allocator of both masters. It is closed when the test ends.
func Both(t testing.TB, north, south *redistest.Server, opts allocator.Options) *allocator.Allocator {
	t.Helper()
	ids, err := twomasters.New(redistest.NewClient(t, north), redistest.NewClient(t, south), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ids.Close(context.Background()) }) // a master that was killed takes nothing back
	return ids
}
