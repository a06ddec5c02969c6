package allocatortest_test

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/allocatortest"
)

// Goroutines and connections that a test leaves behind fail the package.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// order and place stand for the code under test.
type order struct{ ID string }

func place(ctx context.Context, ids *allocator.Allocator) (order, error) {
	var o order
	_, err := ids.Assign(ctx, &o)
	return o, err
}

// TestPlaceAssignsAnID is the example of the package's doc.
func TestPlaceAssignsAnID(t *testing.T) {
	t.Parallel()
	ids := allocatortest.New(t, allocator.Options{})
	placed, err := place(t.Context(), ids)
	if err != nil || placed.ID != "orders/1" {
		t.Errorf("got %+v, %v, want orders/1", placed, err)
	}
}

func TestNewIssuesEveryKindFromTheFirstNumberOn(t *testing.T) {
	t.Parallel()
	ids := allocatortest.New(t, allocator.Options{})
	if id, err := ids.Next(t.Context(), "orders"); id != "orders/1" || err != nil {
		t.Errorf("got %s, %v, want orders/1", id, err)
	}
	if n, err := ids.NextIdentity(t.Context(), "companies"); n != 1 || err != nil {
		t.Errorf("got %d, %v, want 1", n, err)
	}
	if id, err := ids.Resolve(t.Context(), "users/"); id != "users/0000000000000000001" || err != nil {
		t.Errorf("got %s, %v, want users/0000000000000000001", id, err)
	}
	if err := ids.Check(t.Context(), "orders", "invoices"); err != nil {
		t.Errorf("got %v, want <nil>", err)
	}
}

func TestNewMakesAServerForEachCall(t *testing.T) {
	t.Parallel()
	for range 2 {
		ids := allocatortest.New(t, allocator.Options{Namespace: "Shop"})
		if id, err := ids.Next(t.Context(), "orders"); id != "orders/1" || err != nil {
			t.Errorf("got %s, %v, want orders/1", id, err)
		}
	}
}

func TestNewEndsWithItsTest(t *testing.T) { //nolint:tparallel // what follows the inner test is after its end
	t.Parallel()
	var ids, closed *allocator.Allocator
	t.Run("inner", func(t *testing.T) {
		ids, closed = allocatortest.New(t, allocator.Options{}), allocatortest.New(t, allocator.Options{})
		for _, a := range []*allocator.Allocator{ids, closed} {
			if _, err := a.Next(t.Context(), "orders"); err != nil {
				t.Fatal(err)
			}
		}
		if err := closed.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if _, err := ids.Next(t.Context(), "orders"); !errors.Is(err, allocator.ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
}

// fatal records what a test that fails says.
type fatal struct {
	testing.TB
	text []string
}

func (*fatal) Helper() {}

func (f *fatal) Fatalf(format string, args ...any) {
	f.text = append(f.text, format)
	for _, arg := range args {
		if text, ok := arg.(string); ok {
			f.text = append(f.text, text)
		}
	}
	panic(f)
}

func TestNewFailsTheTestForBadOptions(t *testing.T) {
	t.Parallel()
	f := &fatal{TB: t}
	defer func() {
		if recover() != f || !strings.Contains(strings.Join(f.text, " "), "Namespace") {
			t.Errorf("got %q, want a failure that names Namespace", f.text)
		}
	}()
	allocatortest.New(f, allocator.Options{Namespace: "a b"})
}

// A program that uses the allocator must not contain a server.
func TestPackageAllocatorContainsNoServer(t *testing.T) {
	t.Parallel()
	list, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "github.com/hilo-id/hilo/allocator").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, absent := range []string{"github.com/alicebob/miniredis/v2", "testing", "github.com/hilo-id/hilo/scripts/redistest"} {
		if slices.Contains(strings.Fields(string(list)), absent) {
			t.Errorf("package allocator imports %s", absent)
		}
	}
}
