package show

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/cli/internal/term"
)

// topClock is the start time of the tests without a server.
var topClock = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// at returns a poll result of the first server, some seconds after topClock.
func at(seconds float64, counters ...admin.Counter) pollResult {
	l := pollResult{at: topClock.Add(time.Duration(seconds * float64(time.Second))), pause: time.Second, about: about{Role: "primary"}}
	for _, c := range counters {
		l.counters = append(l.counters, polledCounter{Counter: c, at: l.at})
	}
	return l
}

func counterOf(name string, top, ranges, jumps int64) admin.Counter {
	return admin.Counter{Name: name, Max: top, Ranges: ranges, Jumps: jumps}
}

func newState(targets []target.Target, limit int64) *state {
	return top{targets: targets, Limit: limit}.newState()
}

func (s *state) texts() string {
	var all []string
	for _, e := range s.events {
		all = append(all, e.text(grouped))
	}
	return strings.Join(all, "\n")
}

func TestEventsHaveThousandsSeparatorsWhereTheStyleHas(t *testing.T) {
	t.Parallel()
	e := event{format: "Max %d → %d", values: []any{int64(999), int64(4000)}}
	if got, want := e.text(term.Style{}), "Max 999 → 4000"; got != want {
		t.Errorf("in a pipe: got %q, want %q", got, want)
	}
	if got, want := e.text(grouped), "Max 999 → 4,000"; got != want {
		t.Errorf("on a terminal: got %q, want %q", got, want)
	}
}

func TestTopReportsEvents(t *testing.T) {
	t.Parallel()
	down := at(1)
	down.down, down.brief = "no Redis answers at h:1: refused; start one", "refused"
	replica := at(1, counterOf("orders", 32, 1, 0))
	replica.Role = "replica"
	before := at(0, counterOf("orders", 32, 1, 0))
	tests := []struct {
		name    string
		results []pollResult
		want    string
		rate    string
	}{
		{"a first poll", []pollResult{before}, "", "–"},
		{"ranges", []pollResult{before, at(2, counterOf("orders", 232, 2, 0))}, "", "100"},
		{"a returned range", []pollResult{before, at(2, counterOf("orders", 12, 1, 0))}, "", "0"},
		{"a jump", []pollResult{before, at(2, counterOf("orders", 1096, 2, 1))}, "orders on north jumped by 1,064, epoch 0 → 1, Max 32 → 1,096: a client had seen greater numbers, or the counter was missing", "–"},
		{"a seed", []pollResult{before, at(2, counterOf("orders", 4000, 1, 0))}, "orders on north was seeded: Max 32 → 4,000", "–"},
		{"lost writes without a jump", []pollResult{before, at(2, counterOf("orders", 5, 0, 0))}, "orders on north went back: ranges 1 → 0, Max 32 → 5", "–"},
		{"a counter that is gone", []pollResult{before, at(2)}, "orders on north is gone: its counter was removed", ""},
		{"a server that goes down", []pollResult{before, down, down}, "north is down: refused", "–"},
		{"a server that is back", []pollResult{down, at(4, counterOf("orders", 32, 1, 0))}, "north is down: refused\nnorth is back after 3s", "–"},
		{"a server with another role", []pollResult{before, replica}, "north was a primary and is a replica", "0"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newState([]target.Target{{Name: "north"}}, math.MaxInt64)
			for _, l := range test.results {
				s.merge(l)
			}
			if got := s.texts(); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
			rate := ""
			for _, c := range s.sorted("name", "", false) {
				rate = c.rateText()
			}
			if rate != test.rate {
				t.Errorf("rate %q, want %q", rate, test.rate)
			}
		})
	}
}

func TestTopSorts(t *testing.T) {
	t.Parallel()
	s := newState([]target.Target{{Name: "north"}}, math.MaxInt64)
	s.merge(at(0, counterOf("a", 10, 9, 0), counterOf("B", 1<<31-100, 1, 0), counterOf("c", 20, 2, 5)))
	s.merge(at(1, counterOf("a", 510, 10, 0), counterOf("B", 1<<31-90, 2, 0), counterOf("c", 30, 3, 5)))
	for by, want := range map[string]string{"alarm": "aBc", "rate": "aBc", "name": "aBc", "max": "Bac", "ranges": "acB", "epoch": "caB", "left": "Bac"} {
		for _, reverse := range []bool{false, true} {
			var got string
			for _, c := range s.sorted(by, "", reverse) {
				got += c.Name
			}
			first, last := want[0], want[2]
			if reverse {
				first, last = last, first
			}
			if !reverse && got != want || got[0] != first && by != "alarm" && by != "rate" && by != "epoch" || reverse && got[2] != last {
				t.Errorf("by %s, reverse %v: %s, want %s", by, reverse, got, want)
			}
		}
	}
	for _, by := range sorts {
		if orders[by] == nil {
			t.Errorf("no order by %s", by)
		}
	}
	if got := s.sorted("name", "b", false); len(got) != 1 || got[0].Name != "B" {
		t.Errorf("filtered: %+v", got)
	}
}

func TestTopShowsTheHealthOfServers(t *testing.T) {
	t.Parallel()
	replica, corrupt, down := at(0), at(0), at(0)
	replica.Role, corrupt.Corrupt = "replica", 2
	down.down, down.brief = "a sentence", "refused"
	tests := []struct {
		name   string
		result *pollResult
		after  time.Duration
		want   string
	}{
		{"no reply yet", nil, 0, "no reply yet"},
		{"up", &pollResult{at: topClock, took: 1234567}, 0, "up, read in 1.23ms"},
		{"silent", &pollResult{at: topClock, pause: time.Second}, 9 * time.Second, "silent for 9s"},
		{"between polls", &pollResult{at: topClock, pause: time.Minute}, 9 * time.Second, "up, read in 0s"},
		{"down", &down, 12 * time.Second, "down for 12s: refused"},
		{"a replica", &replica, 0, "up, but takes no writes"},
		{"with corrupt keys", &corrupt, 0, "up; 2 corrupt, see hilo list"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newState([]target.Target{{Name: "north"}}, math.MaxInt64)
			if test.result != nil {
				s.merge(*test.result)
			}
			if got := s.servers[0].health(topClock.Add(test.after)); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// The counters are one near the bound, one that will reach it soon, and one that jumped.
func TestTopMarksCountersNearTheBoundOfTheColumns(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		columns, alarm, want string
		limit                int64
	}{
		{"int", "2^31-1", "past true, fast true, jumps true, near true, calm false", math.MaxInt64},
		{"int", "2^31-1", "past true, fast true, jumps true, near true, calm false", 1 << 40},
		{"int", "2^31-1", "past true, fast true, jumps true, near true, calm false", 1<<31 - 1},
		{"double", "2^53-1", "jumps true, fast false, calm false, near false, past false", 1<<53 - 1},
		{"int", "2000000", "near true, past true, fast true, jumps true, calm false", 2_000_000},
		{"double", "2^53-1", "jumps true, fast false, calm false, near false, past false", math.MaxInt64},
		{"double", "1099511627776", "past true, jumps true, fast false, calm false, near false", 1 << 40},
		{"bigint", "1099511627776", "past true, jumps true, fast false, calm false, near false", 1 << 40},
		{"bigint", "2^63-1", "jumps true, fast false, calm false, near false, past false", math.MaxInt64},
	} {
		t.Run(fmt.Sprint(test.columns, " to ", test.limit), func(t *testing.T) {
			t.Parallel()
			testAlarms(t, top{Session: &base.Session{}, targets: []target.Target{{Name: "north"}}, Columns: test.columns, Limit: test.limit}, test.alarm, test.want)
		})
	}
}

func testAlarms(t *testing.T, all top, alarm, want string) {
	t.Helper()
	s := all.newState()
	if got := all.snapshot(s, topClock).Alarms; got != alarm {
		t.Errorf("got an alarm at %s, want %s", got, alarm)
	}
	s.merge(at(0, counterOf("calm", 5, 1, 0), counterOf("fast", 5, 1, 0), counterOf("jumps", 5, 1, 0), counterOf("near", 1<<31-9, 1, 0), counterOf("past", 1<<40, 1, 0)))
	jumped := counterOf("jumps", 70_000, 2, 1)
	s.merge(at(10, counterOf("calm", 15, 2, 0), counterOf("fast", 1_000_005, 9, 0), jumped, counterOf("near", 1<<31-9, 1, 0), counterOf("past", 1<<40, 1, 0)))
	var names []string
	for _, c := range s.sorted(sorts[0], "", false) {
		names = append(names, fmt.Sprintf("%s %t", c.Name, c.alarmed()))
	}
	if got := strings.Join(names, ", "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	got := s.servers[0].counters["jumps"].jumps
	if len(got) != 1 || got[0].By != 69_995 || got[0].Epoch != 1 || got[0].Evidence != evidenceOf("", "") {
		t.Errorf("jumps: %+v", got)
	}
	if evidenceOf("a", "a") == evidenceOf("a", "b") {
		t.Error("a changed replication id makes no difference")
	}
}

// The counter grows for a day.
func TestTopThinsOutTheHistory(t *testing.T) {
	t.Parallel()
	s := newState([]target.Target{{Name: "north"}}, math.MaxInt64)
	const polls = 24 * 60
	for minute := range polls {
		s.merge(at(float64(60*minute), counterOf("grows", int64(minute), 1, 0), counterOf("stands", 5, 1, 0)))
	}
	grows, stands := s.servers[0].counters["grows"].history, s.servers[0].counters["stands"].history
	if n := len(grows); n < maxHistory/3 || n > maxHistory || grows[0].max != 0 || polls-grows[n-1].max > polls/maxHistory*4 {
		t.Errorf("%d readings, from %d to %d", n, grows[0].max, grows[n-1].max)
	}
	if len(stands) != 1 {
		t.Errorf("%d readings of a counter that does not change", len(stands))
	}
}

func TestTopSendsOnlyChanges(t *testing.T) {
	t.Parallel()
	all := top{Session: &base.Session{Namespace: "Raven"}, Sort: sorts[0]}
	s := newState([]target.Target{{Name: "north"}, {Name: "south"}}, math.MaxInt64)
	identity := polledCounter{Counter: counterOf("companies", 7, 0, 0), identity: true}
	merge := func(seconds float64, server int, counters ...admin.Counter) {
		l := at(seconds, counters...)
		identity.at = l.at
		l.server, l.counters = server, append(l.counters, identity)
		s.merge(l)
	}
	merge(0, 0, counterOf("a", 1, 1, 0), counterOf("b", 1, 1, 0))
	merge(0, 1, counterOf("a", 1, 1, 0))
	merge(1, 0, counterOf("a", 1, 1, 0), counterOf("b", 1, 1, 0)) // rates are known from the second poll on
	merge(2, 0, counterOf("a", 9, 2, 0))
	got := all.changes(s, topClock)
	if len(got.Servers) != 1 || len(got.Collections) != 1 || got.Collections[0].Max != 9 || len(got.Identities) != 0 || len(got.Events) != 1 ||
		len(got.Removed) != 1 || got.Removed[0] != (removed{Server: "north", Collection: "b"}) {
		t.Errorf("changes: %+v", got)
	}
	identity.Max = 8
	merge(3, 0)
	if got := all.changes(s, topClock); len(got.Identities) != 1 || got.Identities[0].Max != 8 || len(got.Removed) != 1 {
		t.Errorf("changes: %+v", got)
	}
	if got := all.snapshot(s, topClock); len(got.Servers) != 2 || len(got.Collections) != 1 || len(got.Identities) != 2 || len(got.Events) != 2 {
		t.Errorf("all: %+v", got)
	}
}
