package scripts

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

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
}

// jumped returns the number up to which a counter without a limit jumps, the start plus margin and offset, computed independently of the scripts.
func jumped(t *testing.T, client redistest.Client, j jump) int64 {
	t.Helper()
	base := j.start + max(j.units, 1)*j.unit
	places, most := int64(64), (math.MaxInt64-base)/1000
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
		{name: "numbers past 2^53", state: []any{"Max", int64(1<<53 + 1), "Raised", int64(1<<53 + 1)}, marks: Marks{Floor: 1<<53 + 3}, want: EvidenceFloor, start: 1<<53 + 3, unit: rangeUnit, epoch: birth + 1},
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
