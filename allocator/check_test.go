package allocator

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

func TestCheckReturnsTheErrorOfTheFirstCall(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		opts   Options
		change func(north, south *fakeServer)
		want   error
	}{
		{"all well", Options{}, func(_, _ *fakeServer) {}, nil},
		{"one is down", Options{}, func(north, _ *fakeServer) { north.refuses = errHung }, nil},
		{"one hangs", Options{}, func(_, south *fakeServer) { south.hangs = true }, nil},
		{"both are down", Options{}, func(north, south *fakeServer) { north.refuses, south.hangs = errHung, true }, ErrUnavailable},
		{"one prefix", Options{}, func(_, south *fakeServer) { south.adds = "n/" }, ErrPrefixConflict},
		{"two homes", Options{}, func(north, south *fakeServer) { north.home, south.home = true, true }, ErrPrefixConflict},
		{"no prefix", Options{}, func(_, south *fakeServer) { south.adds = "" }, nil},
		{"a prefix that cannot be", Options{}, func(north, south *fakeServer) { north.adds, south.adds = "N1", "S1" }, ErrCorrupt},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				north, south := &fakeServer{adds: "N/", origin: "n"}, &fakeServer{adds: "S/", origin: "s"}
				test.change(north, south)
				a := newFakeAllocator(t, test.opts, north, south)
				if a.Stats().Ready() {
					t.Error("before any contact: got ready, want not ready")
				}
				if err := a.Check(t.Context()); !errors.Is(err, test.want) {
					t.Errorf("Check: got %v, want %v", err, test.want)
				}
				if got := a.Stats().Ready(); got != (test.want == nil) {
					t.Errorf("Ready: got %v, want %v", got, (test.want == nil))
				}
				if _, err := a.Next(t.Context(), "orders"); !errors.Is(err, test.want) {
					t.Errorf("Next: got %v, want %v", err, test.want)
				}
				_ = a.Close(t.Context())
				if err := a.Check(t.Context()); !errors.Is(err, ErrClosed) {
					t.Errorf("Check after Close: got %v, want ErrClosed", err)
				}
			})
		})
	}
}

func TestCheckOfOneServerFindsAMissingPrefix(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{adds: "N/"}
		a := newFakeAllocator(t, Options{}, f)
		if _, err := a.Next(t.Context(), "orders"); err != nil {
			t.Fatal(err)
		}
		f.set(func() { f.adds = "" })
		if err := a.Check(t.Context()); !errors.Is(err, ErrPrefixMissing) {
			t.Errorf("got %v, want ErrPrefixMissing", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := a.Check(ctx); !errors.Is(err, context.Canceled) || !errors.Is(err, ErrUnavailable) {
			t.Errorf("got %v, want both errors", err)
		}
	})
}

func TestRetryableReportsWhatMayPass(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{
		nil: false, ErrUnavailable: true, ErrNotDurable: true, ErrClosed: false, errors.Join(ErrUnavailable, ErrClosed): false,
		ErrExhausted: false, ErrInvalidName: false, ErrPrefixConflict: false, errors.Join(ErrPrefixConflict, ErrUnavailable): true,
		context.Canceled: false,
	} {
		if got := Retryable(err); got != want {
			t.Errorf("Retryable(%v): got %v, want %v", err, got, want)
		}
	}
}
