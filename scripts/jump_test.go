package scripts

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// The units of a jump of a counter that was raised by its first block, in which the margin and the offset are counted.
const (
	rangeUnit    = 4 * 16384
	identityUnit = 4 * 256
)

// jump describes where a counter of a plain server jumps.
type jump struct {
	start int64 // greatest number that was reserved, or issued to the client
	unit  int64
	units int64 // of the margin, 0 for 1
	token string
	limit int64 // 0 for none
}

// jumped returns the number up to which a counter jumps, the start plus margin and offset, computed independently of the scripts.
func jumped(t *testing.T, client redistest.Client, j jump) int64 {
	t.Helper()
	if j.limit == 0 {
		j.limit = math.MaxInt64
	}
	base := j.start + max(j.units, 1)*j.unit
	if base < j.start || base >= j.limit {
		t.Fatalf("got a base of %d, want it between %d and %d", base, j.start, j.limit)
	}
	places, most := int64(64), (j.limit-base)/1000
	if j.unit >= 1_000_000 {
		places = 16
	}
	if j.unit > most/places {
		places = most
	} else {
		places *= j.unit
	}
	return base + place(t, j.token+mustDescribe(t, client).Origin, places)
}

// place returns a number from 0 to places-1 that is derived from a text.
func place(t *testing.T, text string, places int64) int64 {
	t.Helper()
	sum := sha1.Sum([]byte(text))
	digits := hex.EncodeToString(sum[:])
	part := func(from int) float64 {
		n, err := strconv.ParseInt(digits[from:from+12], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		return float64(n) / (1 << 48)
	}
	if places < 1e15 {
		return int64(math.Floor(part(0) * float64(places)))
	}
	return int64(math.Floor(part(0)*float64(places/1e9)))*1e9 + int64(math.Floor(part(12)*1e9))
}

// A server that was restarted lost the newest ranges. Without the evidence it issues them again.
func TestNextJumpsOnceAfterARestart(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		mustNext(t, client, request("one"))
		state := stored(t, client)
		held := mustNext(t, client, request("two"))
		s.Restart() // comes back empty; the state before the newest range is put back
		s.Initialize("Raven")

		replace(t, client, state)
		client.HDel(t.Context(), keys.Counter, "Origin")
		wantRange(t, mustNext(t, client, request("fault")), held.Low, held.High)

		replace(t, client, state)
		base := jumped(t, client, jump{start: 32 + 16384, unit: rangeUnit, units: 15, token: "three"})
		got := mustNext(t, client, request("three"))
		wantRange(t, got, base+1, base+32)
		if got.Evidence != EvidenceOrigin || got.Jump != base-32 || number10(got.Epoch-1) != state["Epoch"] || got.Ceiling != got.High+16384 {
			t.Errorf("got %+v, want a jump by %d on evidence origin, one epoch on, and a ceiling", got, base-32)
		}
		wantRange(t, mustNext(t, client, request("four")), base+33, base+64) // once
	})
}

// Of what was reserved the client saw more than survived. Each case sets what it changes of a counter at 32 that was raised to 16416.
func TestNextJumpsOnEvidenceOfLostWrites(t *testing.T) {
	t.Parallel()
	const birth int64 = 1_800_000_000_000_000_000
	tests := []struct {
		name     string
		state    []any // nil for no counter
		marks    Marks
		capacity int64
		want     Evidence
		start    int64
		unit     int64
		epoch    int64
	}{
		{name: "nothing seen", state: []any{}},
		{name: "all seen", state: []any{}, marks: Marks{Floor: 32, Epoch: birth, Ceiling: 16416, Block: 16384}},
		{name: "a floor", state: []any{}, marks: Marks{Floor: 33}, want: EvidenceFloor, start: 16416, unit: rangeUnit, epoch: birth + 1},
		{name: "a floor above the ceiling", state: []any{}, marks: Marks{Floor: 20_000}, want: EvidenceFloor, start: 20_000, unit: rangeUnit, epoch: birth + 1},
		{name: "a ceiling", state: []any{}, marks: Marks{Ceiling: 16417}, want: EvidenceFloor, start: 16417, unit: rangeUnit, epoch: birth + 1},
		{name: "a block alone", state: []any{}, marks: Marks{Block: 65536}},
		{name: "a block of the client", state: []any{}, marks: Marks{Floor: 33, Block: 65536}, want: EvidenceFloor, start: 16416, unit: 4 * 65536, epoch: birth + 1},
		{name: "a block of the counter", state: []any{"Block", 300_000}, marks: Marks{Floor: 33}, want: EvidenceFloor, start: 16416, unit: 1_200_000, epoch: birth + 1},
		{name: "a large request", state: []any{}, marks: Marks{Floor: 33}, capacity: 50_000, want: EvidenceFloor, start: 16416, unit: 200_000, epoch: birth + 1},
		{name: "a greater epoch", state: []any{}, marks: Marks{Epoch: birth + 7}, want: EvidenceEpoch, start: 16416, unit: rangeUnit, epoch: birth + 8},
		{name: "another birth", state: []any{}, marks: Marks{Epoch: birth - 1_000_000}, want: EvidenceEpoch, start: 16416, unit: rangeUnit, epoch: birth + 1},
		{name: "another birth and a jump since", state: []any{"Epoch", birth + 1}, marks: Marks{Epoch: birth - 1_000_000}},
		{name: "no counter", marks: Marks{Floor: 500, Epoch: birth + 3, Ceiling: 900}, want: EvidenceMissing, start: 900, unit: rangeUnit, epoch: birth + 4},
		{name: "no counter, five minutes later", marks: Marks{Floor: 500, Epoch: birth, Ceiling: 900, Age: 300}, want: EvidenceMissing, start: 900 + 5*rangeUnit, unit: rangeUnit, epoch: birth + 1},
		{name: "no counter, and nothing in use", marks: Marks{Epoch: birth, Ceiling: 900}, want: EvidenceMissing, start: 900, unit: rangeUnit, epoch: birth + 1},
		{name: "numbers past 2^53", state: []any{"Max", 1<<53 + 1, "Raised", 1<<53 + 1}, marks: Marks{Floor: 1<<53 + 3}, want: EvidenceFloor, start: 1<<53 + 3, unit: rangeUnit, epoch: birth + 1},
		{name: "a block past 2^53", state: []any{}, marks: Marks{Floor: 33, Block: 1<<53 + 1}, want: EvidenceFloor, start: 16416, unit: 1<<55 + 4, epoch: birth + 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				client := s.Client(t)
				stood := int64(0)
				if test.state != nil {
					set(t, client, "Max", 32, "Raised", 16416, "Block", 16384, "RaisedAt", "1", "Epoch", birth, "Ranges", 1, "Written", 5)
					if len(test.state) > 0 {
						set(t, client, test.state...)
					}
					stood = number(t, stored(t, client)["Max"])
				}
				r := request("one")
				r.Marks = test.marks
				if test.capacity > 0 {
					r.Capacity = test.capacity
				}
				got := mustNext(t, client, r)
				base, epoch := stood, got.Epoch
				if test.want != "" {
					base, epoch = jumped(t, client, jump{start: test.start, unit: test.unit, token: "one"}), test.epoch
				}
				wantRange(t, got, base+1, base+r.Capacity)
				if got.Evidence != test.want || got.Jump != base-stood || got.Epoch != epoch {
					t.Errorf("got %+v, want a jump by %d on evidence %q and epoch %d", got, base-stood, test.want, epoch)
				}
				r.Token = "two"
				if again := mustNext(t, client, seen(r, got)); again.Low != got.High+1 || again.Evidence != "" {
					t.Errorf("once more: got %+v, want no jump", again)
				}
			})
		})
	}
}

// A counter that was deleted and made anew is below none of the numbers that the client saw once it has issued as many. Its birth
// still differs.
func TestNextJumpsOnAnotherBirth(t *testing.T) {
	t.Parallel()
	s := redistest.StartMini(t)
	client := s.Client(t)
	s.Mini().SetTime(began)
	old := mustNext(t, client, request("old"))
	client.Del(t.Context(), keys.Counter)
	s.Mini().SetTime(began.Add(time.Millisecond))
	for i := range 3 {
		mustNext(t, client, request(fmt.Sprint("anew ", i)))
	}
	r := seen(request("blind"), old)
	r.Epoch = 0
	wantRange(t, mustNext(t, client, r), 97, 128) // the fault: others were issued these before the counter was deleted
	r = seen(request("a"), old)
	got := mustNext(t, client, r)
	if got.Evidence != EvidenceEpoch || got.Low <= 128+16384+rangeUnit || got.Epoch != began.Add(time.Millisecond).UnixMilli()*1_000_000+1 {
		t.Errorf("got %+v, want a jump on evidence epoch", got)
	}
	r.Token = "another client"
	if again := mustNext(t, client, r); again.Evidence != "" {
		t.Errorf("another client of the old counter: got %+v, want no second jump", again)
	}
}

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
		{"a promotion", func(s *redistest.Server, origin string) { s.SetInfo("master_replid2", origin) }, 1},
		{"a promotion from another history", func(s *redistest.Server, _ string) { s.SetInfo("master_replid2", anotherOrigin) }, 15},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := redistest.StartMini(t)
			client := s.Client(t)
			origin := mustNext(t, client, request("before")).Origin
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

func TestIdentityJumpsOnEvidenceOfLostWrites(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		for _, k := range []Keys{identityKeys, serverSideKeys} {
			r := identityRequest(5)
			before, err := Identity(t.Context(), client, k, r)
			if err != nil || before.Ceiling != 5+256 {
				t.Fatalf("%s: got %+v, %v, want a ceiling of 261", k.Counter, before, err)
			}
			s.ChangeReplicationID()
			for _, exact := range []int64{100, 1 << 62} { // below and above where a jump leads
				r.Exact = exact
				state := storedAt(t, client, k.Counter)
				if got, err := Identity(t.Context(), client, k, r); err != nil || got.Low != 0 || got.Evidence != "" {
					t.Errorf("%s: exact value after lost writes: got %+v, %v, want none", k.Counter, got, err)
				}
				wantSame(t, state, storedAt(t, client, k.Counter))
			}
			r.Exact = 0
			base := jumped(t, client, jump{start: before.Ceiling, unit: identityUnit, units: 15, token: "token"})
			got, err := Identity(t.Context(), client, k, r)
			if err != nil || got.Low != base+1 || got.Evidence != EvidenceOrigin || got.Epoch != before.Epoch+1 {
				t.Errorf("%s: got %+v, %v, want %d in the next epoch", k.Counter, got, err, base+1)
			}
		}
	})
}

// withoutInfo returns a client whose user is not permitted to call INFO. Other clients are.
func withoutInfo(t *testing.T, s *redistest.Server) redistest.Client {
	t.Helper()
	if !s.Real() { // miniredis has no users, so all clients are refused
		s.Hook(func(cmd string, _ []string) string {
			if cmd == "INFO" {
				return "NOPERM this user has no permissions to run the 'info' command"
			}
			return ""
		})
		return s.Client(t)
	}
	admin := s.Client(t)
	if err := admin.Do(t.Context(), "ACL", "SETUSER", "worker", "on", ">secret", "~*", "+@all", "-info").Err(); err != nil {
		t.Fatal(err)
	}
	opts := redistest.Options(s)
	opts.Username, opts.Password = "worker", "secret"
	client := redis.NewClient(opts)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// Without INFO a client cannot detect a restart of the server, and its write would hide one from the others.
func TestScriptsWithoutInfoRefuseAGuardedCounter(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		admin := s.Client(t)
		mustNext(t, admin, request("one"))
		client := withoutInfo(t, s)
		before := stored(t, client)
		_, err := Next(t.Context(), client, keys, request("two"))
		if !errors.Is(err, ErrUnguarded) || !Answered(err) {
			t.Fatalf("next: got %v, want ErrUnguarded", err)
		}
		for _, part := range []string{keys.Counter, "+info", "Origin"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("got %q, want %q in it", err, part)
			}
		}
		if err := CheckNext(t.Context(), client, keys, request("two")); !errors.Is(err, ErrUnguarded) {
			t.Errorf("check: got %v, want ErrUnguarded", err)
		}
		wantSame(t, before, stored(t, client))

		// This is the remedy where the server permits INFO to no client.
		client.HDel(t.Context(), keys.Counter, "Origin")
		wantRange(t, mustNext(t, client, request("two")), 33, 64)
		wantStored(t, client, "Origin", "")
	})
}

func TestScriptsWithoutInfoServeAnUnguardedCounter(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := withoutInfo(t, s)
		r := request("one")
		r.Name = "Orders"
		first := mustNext(t, client, r)
		wantReturned(t, client, back(first, "one", 5), true)
		wantRange(t, mustNext(t, client, request("two")), 6, 37)
		wantStored(t, client, "Name", "Orders") // as it was spelled first
		mustSeed(t, client, SeedRequest{Value: 100})
		importOne(t, client, ImportRequest{Value: 200})
		got := mustNext(t, client, request("three"))
		if got.Low != 201 || got.Origin != "" || stored(t, client)["Origin"] != "" {
			t.Errorf("got %+v, want 201 without an Origin", got)
		}
		if got, err := Describe(t.Context(), client, serverKey); err != nil || got != (Description{}) {
			t.Errorf("describe: got %+v, %v, want none", got, err)
		}
	})
}
