package show

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/cli/internal/term"
)

// South issues 3,000,000,001 to 3,000,001,000, so that the last of its numbers are near where those of north have just begun.
func TestTopAlarmsAtMaxValueOfTheServer(t *testing.T) {
	t.Parallel()
	const low, high = 3_000_000_001, 3_000_001_000
	north, south := at(0, counterOf("orders", 5, 1, 0)), at(0, counterOf("full", high-50, 1, 0), counterOf("new", low+50, 1, 0))
	south.server, south.MinValue, south.MaxValue, south.Durable = 1, low, high, "always"
	all := top{Session: &base.Session{}, targets: []target.Target{{Name: "north"}, {Name: "south"}}, Sort: sorts[0], Columns: "bigint", Limit: math.MaxInt64}
	s := all.newState()
	s.merge(north)
	s.merge(south)
	var got []string
	for _, c := range s.sorted("name", "", false) {
		h := c.critical()
		got = append(got, fmt.Sprintf("%s: %d of %s left, %.0f%% used, low %t", c.Name, h.Left, h.Bound, h.Used, c.low()))
	}
	const want = "full: 50 of 3000001000 left, 95% used, low true; new: 949 of 3000001000 left, 5% used, low false; " +
		"orders: 9223372036854775802 of 2^63-1 left, 0% used, low false"
	if got := strings.Join(got, "; "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	shown := all.snapshot(s, topClock)
	for _, c := range shown.Collections {
		if want := map[string]string{"south": "3000001000"}[c.Server]; c.Alarms != want {
			t.Errorf("%s: got an alarm at %q, want %q", c.Collection, c.Alarms, want)
		}
	}
	if server := shown.Servers[1]; server.MinValue != low || server.MaxValue != high || server.Durable != "always" {
		t.Errorf("got the server %+v, want its interval and Durable", server)
	}
	if table := countersTable(s.sorted("name", "", false), s, timeLeft, 0, term.Style{}); table.Head[len(table.Head)-1] != "limit" {
		t.Errorf("got the columns %q, want the last one for different limits", table.Head)
	}
	if row := fmt.Sprint(s.serversTable(topClock)); !strings.Contains(row, "3000000001 to 3000001000 (durable)") {
		t.Errorf("got the servers %s, want the interval and Durable of south", row)
	}

	south.MaxValue = high + 100_000
	s.merge(south)
	if c := s.servers[1].counters["full"]; c.low() {
		t.Errorf("got low headroom %+v after MaxValue was raised, want none", c.headroom)
	}
}
