package scripts

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// The newest snapshot of a server without an append-only file may be an hour old.
func TestNextJumpsByAnHourOnlyAfterARestartFromASnapshot(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		happen func(s *redistest.Server, origin string)
		units  int64
	}{
		{"a restart", func(*redistest.Server, string) {}, 15},
		{"a restart with an append-only file", func(s *redistest.Server, _ string) { s.SetInfo("aof_enabled", "1") }, 1},
		{"a restart without INFO persistence", func(s *redistest.Server, _ string) {
			s.Hook(func(cmd string, args []string) string {
				if cmd == "INFO" && len(args) > 0 && args[0] == "persistence" {
					return "NOPERM"
				}
				return ""
			})
		}, 15},
		{"a promotion", func(s *redistest.Server, origin string) {
			s.SetInfo("master_replid2", origin)
			s.SetInfo("uptime_in_seconds", "3600")
		}, 1},
		// The snapshot of a server with replicas has the replication id, which a restart puts into master_replid2.
		{"a restart of a server with replicas", func(s *redistest.Server, origin string) {
			s.SetInfo("master_replid2", origin)
			s.SetInfo("uptime_in_seconds", "0")
		}, 15},
		{"a promotion from another history", func(s *redistest.Server, _ string) { s.SetInfo("master_replid2", anotherOrigin) }, 15},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := redistest.StartMini(t)
			client := s.Client(t)
			s.Mini().SetTime(began)
			origin := mustNext(t, client, request("before")).Origin
			s.Mini().SetTime(began.Add(time.Hour))
			s.ChangeReplicationID()
			test.happen(s, origin)
			base := jumped(t, client, jump{start: 32 + 16384, unit: rangeUnit, units: test.units, token: "after"})
			got := mustNext(t, client, request("after"))
			if got.Low != base+1 || got.Evidence != EvidenceOrigin {
				t.Errorf("got %+v, want a range from %d on evidence origin", got, base+1)
			}
		})
	}
}

// The replica of a real server is promoted, and has the id of its primary in master_replid2.
func TestNextJumpsByOneUnitAfterAFailover(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		replica := redistest.StartReplica(t, s)
		replica.AwaitUptime(3) // a promotion is told from a restart by it
		held := mustNext(t, s.Client(t), request("before"))
		other := replica.Client(t)
		replica.Await("to have the range", func(ctx context.Context) bool { return other.HGet(ctx, keys.Counter, "Max").Val() == "32" })
		s.Kill()
		replica.Promote()
		base := jumped(t, other, jump{start: held.Ceiling, unit: rangeUnit, token: "after"})
		got := mustNext(t, other, request("after"))
		wantRange(t, got, base+1, base+32)
		if skipped := got.Low - held.High; skipped < 65_536 || skipped > 4_300_000 {
			t.Errorf("got %d numbers skipped, want 65,536 to 4,300,000", skipped)
		}
	})
}

// Two servers that continue from the same state cannot coordinate, so the tokens of the requests and the replication ids separate
// them.
func TestNextJumpsApartFromTheSameState(t *testing.T) {
	t.Parallel()
	for _, block := range []int64{16384, 250_000, 1 << 31, 1 << 54} { // numbers above 2^53 are not exact as doubles
		t.Run(number10(block), func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				client := s.Client(t)
				mustNext(t, client, request("before"))
				set(t, client, "Block", block)
				state := stored(t, client)
				const n = 64
				unit, places := 4*block, int64(64)
				if unit >= 1_000_000 {
					places = 16
				}
				first := int64(16416) + 15*unit
				far := first + min(places*unit, (math.MaxInt64-first)/1000)
				lows := make([]int64, n)
				for i := range lows {
					replace(t, client, state)
					s.ChangeReplicationID()
					got := mustNext(t, client, request("one and the same"))
					if got.Low <= first || got.Low > far {
						t.Fatalf("got %+v, want it between %d and %d", got, first, far)
					}
					lows[i] = got.Low
				}
				slices.Sort(lows)
				meet := 0
				for i := range lows[1:] {
					if lows[i+1]-lows[i] < 32 {
						meet++
					}
				}
				if spread := lows[n-1] - lows[0]; meet > 4 || spread < (far-first)/2 {
					t.Errorf("got %d of %d ranges that overlap, over %d numbers, want at most 4, over %d", meet, n, spread, far-first)
				}
			})
		})
	}
}

func TestNextNeverJumpsPastTheLimit(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		const start = 100
		r := request("one")
		for _, room := range []int64{1, 2, 999, 1000, 1_000_000} { // after the margin
			client.Del(t.Context(), keys.Counter)
			r.Floor, r.Limit = start, start+rangeUnit+room
			got := mustNext(t, client, r)
			if got.Low <= start+rangeUnit || got.Low > start+rangeUnit+1+room/1000 || got.High > r.Limit {
				t.Errorf("%d numbers left: got %+v, want a range right behind the margin", room, got)
			}
		}
	})
}

func TestNextExplainsWhyNoJumpFits(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		state  []any
		vary   func(r *NextRequest)
		reason string
		margin string
	}{
		{"below a floor", []any{"Max", "1000"}, func(r *NextRequest) { r.Floor = 1001 }, "floor", "1 times 65536 above 1001"},
		{"below an epoch", []any{"Max", "1000", "Epoch", "1"}, func(r *NextRequest) { r.Epoch = 2 }, "epoch", "1 times 65536 above 1000"},
		{"after a restart", []any{"Max", "1000", "Origin", anotherOrigin}, func(*NextRequest) {}, "origin", "15 times 65536 above 1000"},
		{"without a counter", nil, func(r *NextRequest) { r.Floor, r.Age = 7, 60 }, "missing", "2 times 65536 above 7"},
		{"with a greater block", []any{"Max", "1000"}, func(r *NextRequest) { r.Floor, r.Block = 1001, 20_000 }, "floor", "1 times 80000 above 1001"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				client := s.Client(t)
				if test.state != nil {
					set(t, client, test.state...)
				}
				before := dump(t, client)
				r := request("one")
				r.Limit = 2000
				test.vary(&r)
				_, err := Next(t.Context(), client, keys, r)
				if !errors.Is(err, ErrExhausted) {
					t.Fatalf("got %v, want ErrExhausted", err)
				}
				for _, part := range []string{keys.Counter, "(" + test.reason + ")", test.margin, "the limit 2000", "delete the key, seed it above that, and restart"} {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("got %q, want %q in it", err, part)
					}
				}
				wantSame(t, before, dump(t, client))

				// This is the way out that the error names.
				client.Del(t.Context(), keys.Counter)
				mustSeed(t, client, SeedRequest{Value: 1100})
				r.Marks = Marks{}
				wantRange(t, mustNext(t, client, r), 1101, 1132)
			})
		})
	}
}
