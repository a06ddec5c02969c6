package allocator

import (
	"testing"
	"time"
)

func TestCollectionStatsAddSumsFigures(t *testing.T) {
	t.Parallel()
	sum := CollectionStats{Name: "orders"}
	for range 2 {
		sum.Add(CollectionStats{
			Name: "users", Ranges: 1, Reserved: 32, Issued: 10, Returned: 3, Burnt: 4, Held: 15, Failures: 5, Waits: 6, Jumps: 7, Greatest: 64, Rate: 1.5,
			Runway: time.Hour,
		})
	}
	want := CollectionStats{
		Name: "orders", Ranges: 2, Reserved: 64, Issued: 20, Returned: 6, Burnt: 8, Held: 30, Failures: 10, Waits: 12, Jumps: 14, Greatest: 64, Rate: 3,
		Runway: 10 * time.Second,
	}
	if sum != want {
		t.Errorf("got %+v, want %+v", sum, want)
	}
}

func TestReadyReportsWhetherACallerCouldBeServed(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		stats Stats
		want  bool
	}{
		{"never used", Stats{Servers: []ServerStats{{Up: true}}}, false},
		{"with numbers in hand", Stats{Collections: []CollectionStats{{}, {Held: 1}}, Servers: []ServerStats{{}}}, true},
		{"with nothing in hand and no server", Stats{Collections: []CollectionStats{{Issued: 1}}, Servers: []ServerStats{{}}}, false},
		{"with a server that answered", Stats{Servers: []ServerStats{{}, {Up: true, Answered: true}}}, true},
		{"with a server that answered and is down", Stats{Servers: []ServerStats{{Answered: true}}}, false},
		{"with a conflict in the settings", Stats{Servers: []ServerStats{{Up: true, Answered: true}}, conflict: true}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := test.stats.Ready(); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
}
