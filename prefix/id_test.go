package prefix_test

import (
	"math"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/prefix"
)

func TestAppendKeepsTheBytesInDst(t *testing.T) {
	t.Parallel()
	id := prefix.ID{Collection: "orders", ServerPrefix: "North/", Number: 7, NodeTag: "B"}
	if got := string(id.Append([]byte("id="), ":")); got != "id=orders:North/7-B" {
		t.Errorf("got %s, want id=orders:North/7-B", got)
	}
}

//nolint:paralleltest // AllocsPerRun counts what other tests allocate, too
func TestAppendAllocatesNothing(t *testing.T) {
	longest := prefix.ID{
		Collection:   strings.Repeat("c", 128),
		ServerPrefix: strings.Repeat("p", 64),
		Number:       math.MaxInt64,
		NodeTag:      "Abcdefgh",
	}
	usual := prefix.ID{Collection: "orders", ServerPrefix: "NorthServer/", Number: 1_000_000, NodeTag: "A"}
	dst := make([]byte, 0, 256)
	var text string
	for _, tt := range []struct {
		name string
		run  func()
		want float64
	}{
		{"Append to a slice with room allocates nothing", func() { dst = longest.Append(dst[:0], "→") }, 0},
		{"String allocates the string only", func() { text = usual.String() }, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := testing.AllocsPerRun(100, tt.run); got != tt.want {
				t.Errorf("got %v allocations, want %v", got, tt.want)
			}
		})
	}
	if text != "orders/NorthServer/1000000-A" {
		t.Errorf("got %s, want orders/NorthServer/1000000-A", text)
	}
}

func BenchmarkAppend(b *testing.B) {
	id := prefix.ID{Collection: "orders", ServerPrefix: "NorthServer/", Number: 1_000_000, NodeTag: "A"}
	dst := make([]byte, 0, 64)
	b.ReportAllocs()
	for b.Loop() {
		dst = id.Append(dst[:0], "/")
	}
}
