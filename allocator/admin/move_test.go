package admin

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/internal/fleet"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

var calls = flag.Int("calls", 2000, "how many calls are compared between a server and the one that its namespace was moved to")

// movedClients are the clients of a namespace. Each has marks of its own, which it keeps when the namespace moves.
type movedClients struct {
	t       *testing.T
	keys    prefix.Keys
	marks   [2]map[string]*fleet.Marks // of each client, by counter
	history []string
}

// call makes a call to a server. record records its outcome in the client that made it.
type call func(client *redis.Client) (got outcome, record func())

// outcome is the part of a result in which two servers have to agree.
type outcome struct {
	scripts.Range
	err      error
	returned bool
	stands   int64
}

// choose returns a random call.
func (f *movedClients) choose() call {
	name, of := []string{"orders", "People", "users"}[rand.IntN(3)], rand.IntN(2)
	switch n := rand.IntN(20); {
	case n < 8:
		return f.next(name, of)
	case n < 13:
		return f.identity(name, of)
	case n < 15:
		return f.serverSide(of)
	}
	return f.seed(name)
}

func (f *movedClients) next(name string, of int) call {
	keys := scripts.Keys{Counter: f.keys.HiLo(name), Server: f.keys.Server(), Other: f.keys.Identity(name)}
	marks := f.known(of, keys.Counter)
	r := scripts.NextRequest{
		Token: fmt.Sprint(rand.Uint64()), Name: name, Capacity: 1 + rand.Int64N(64), Limit: limit(), Floor: marks.Floor, Epoch: marks.Epoch,
		IdentityFloor: f.known(of, keys.Other).Floor, RaiseTop: rand.IntN(4) == 0, AtLeast: rand.Int64N(2) * rand.Int64N(6000), RequireSeeded: rand.IntN(4) == 0,
	}
	back := rand.Int64N(3 * r.Capacity) // mostly nothing
	f.notef("client %d: next %+v, and returns all but %d", of, r, back)
	return func(client *redis.Client) (outcome, func()) {
		got, err := scripts.Next(f.t.Context(), client, keys, r)
		returned := false
		if last := got.Low - 1 + back; err == nil && last < got.High {
			returned, _ = scripts.Return(f.t.Context(), client, scripts.ReturnRequest{
				Counter: keys.Counter, Token: r.Token, End: got.High, Last: last, Epoch: got.Epoch, Written: got.Written,
			})
		}
		return compared(got, err, returned), func() {
			if err == nil && !returned {
				marks.Record(0, got)
			}
		}
	}
}

func (f *movedClients) identity(name string, of int) call {
	keys := scripts.Keys{Counter: f.keys.Identity(name), Server: f.keys.Server(), Other: f.keys.HiLo(name)}
	marks := f.known(of, keys.Counter)
	r := scripts.IdentityRequest{
		Token: fmt.Sprint(rand.Uint64()), Name: name, Count: 1 + rand.Int64N(64), Limit: limit(), Floor: marks.Floor, Epoch: marks.Epoch, Lowered: marks.Count,
		BareFloor: f.known(of, keys.Other).Bare, Anywhere: rand.IntN(4) == 0,
	}
	if rand.IntN(4) == 0 {
		r.Count, r.Raise = 1, 1+rand.Int64N(6000)
	}
	f.notef("client %d: identity %+v", of, r)
	return f.values(keys, r, marks)
}

func (f *movedClients) serverSide(of int) call {
	keys := scripts.Keys{Counter: f.keys.ServerSide(), Server: f.keys.Server(), Other: f.keys.Server()}
	marks := f.known(of, keys.Counter)
	r := scripts.IdentityRequest{Token: fmt.Sprint(rand.Uint64()), Name: "users/", Count: 1, Limit: limit(), Floor: marks.Floor, Epoch: marks.Epoch}
	f.notef("client %d: server-side %+v", of, r)
	return f.values(keys, r, marks)
}

// values returns a call of the script identity.
func (f *movedClients) values(keys scripts.Keys, r scripts.IdentityRequest, marks *fleet.Marks) call {
	return func(client *redis.Client) (outcome, func()) {
		got, err := scripts.Identity(f.t.Context(), client, keys, r)
		return compared(got, err, false), func() {
			if err == nil && got.Low > 0 {
				marks.Record(0, got)
			}
		}
	}
}

func (f *movedClients) seed(name string) call {
	value, force, kind := rand.Int64N(4000), rand.IntN(2) == 0, rand.IntN(2) == 0
	f.notef("seed %s, identity %v, to %d, force %v", name, kind, value, force)
	return func(client *redis.Client) (outcome, func()) {
		m := mustNew(f.t, client, Options{})
		seed := m.Seed
		if kind {
			seed = m.SeedIdentity
		}
		got, err := seed(f.t.Context(), name, value, force)
		return outcome{err: sentinelOf(err), stands: got}, func() {}
	}
}

func (f *movedClients) notef(format string, values ...any) {
	f.history = append(f.history, fmt.Sprintf(format, values...))
}

func limit() int64 { return []int64{math.MaxInt64, math.MaxInt64, 5000}[rand.IntN(3)] }

func (f *movedClients) known(client int, counter string) *fleet.Marks {
	if f.marks[client] == nil {
		f.marks[client] = make(map[string]*fleet.Marks)
	}
	if f.marks[client][counter] == nil {
		f.marks[client][counter] = new(fleet.Marks)
	}
	return f.marks[client][counter]
}

// compared removes what differs between servers. These are times, the replication id, and the offset of a jump, which is derived
// from that. A move resets the tallies, and also Before, so that no range from before it can be returned.
func compared(got scripts.Range, err error, returned bool) outcome {
	if got.Evidence != "" {
		got.Low, got.High, got.Jump = 1, 1+got.High-got.Low, 0
	}
	got.Written, got.Before, got.Origin, got.Issued, got.Seconds = 0, 0, "", 0, 0
	return outcome{Range: got, err: sentinelOf(err), returned: returned}
}

// sentinelOf returns the error of package scripts that err matches.
func sentinelOf(err error) error {
	for _, of := range []error{
		scripts.ErrCorrupt, scripts.ErrExhausted, scripts.ErrNotSeeded, scripts.ErrMixed, scripts.ErrElsewhere, scripts.ErrRaise, scripts.ErrPrefixMissing, scripts.ErrChanged,
	} {
		if errors.Is(err, of) {
			return of
		}
	}
	return err
}

// settings returns random settings of a server.
func settings() prefix.Server {
	s := prefix.Server{Identities: rand.IntN(2) == 0}
	if rand.IntN(2) == 0 {
		s.ServerPrefix = "N/"
	}
	if rand.IntN(2) == 0 {
		s.NodeTag = "A"
	}
	if rand.IntN(3) == 0 {
		s.MinValue, s.MaxValue = 1000, 1_000_000_000_000
	}
	return s
}

// The namespace is moved by the documented steps at a random moment, after which the old server is no longer used. From then on
// each call is made to both servers.
func TestMovedNamespaceContinuesAsOnItsOldServer(t *testing.T) {
	t.Parallel()
	run := func(name string, start func(t *testing.T) *redistest.Server) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to := redistest.NewClient(t, start(t)), redistest.NewClient(t, start(t))
			for made := 0; made < *calls && !t.Failed(); made += moveOnce(t, from, to) {
				from.FlushDB(t.Context())
				to.FlushDB(t.Context())
			}
		})
	}
	run("miniredis", func(t *testing.T) *redistest.Server { return redistest.StartMini(t) })
	for _, b := range redistest.Binaries(t) {
		run(b.Name, func(t *testing.T) *redistest.Server { return redistest.Start(t, b) })
	}
}

// moveOnce compares two servers for a random history, and returns the number of calls.
func moveOnce(t *testing.T, from, to *redis.Client) int {
	t.Helper()
	f := &movedClients{t: t, keys: prefix.NewKeys("Raven")}
	source, target := mustNew(t, from, Options{}), mustNew(t, to, Options{})
	if err := source.SetServerPrefix(t.Context(), settings()); err != nil {
		t.Fatal(err)
	}
	for range rand.IntN(60) {
		_, record := f.choose()(from)
		record()
	}
	all, err := source.Export(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := target.SetServerPrefix(t.Context(), all.Server); err != nil {
		t.Fatal(err)
	}
	for _, got := range target.Import(t.Context(), all.States) {
		if got.Err != nil {
			t.Fatal(got.Err)
		}
	}
	f.notef("move")
	made := 0
	for want := (outcome{}); made < 40 && want.Evidence == ""; made++ { // after a jump they stand at different numbers
		var record func()
		do := f.choose()
		want, record = do(from)
		got, _ := do(to)
		record()
		if got != want {
			t.Fatalf("got %+v of the new server, want %+v as of the old one, after\n%s", got, want, strings.Join(f.history, "\n"))
		}
	}
	return made
}

// Only the floor of a running worker shows a loss that exceeds the gap, here of one large request. It counts at the new server
// too, even if forced seeds lowered the identity there before, when the server was tried out.
func TestMovedWorkerKeepsTheFloorOfAnIdentity(t *testing.T) {
	t.Parallel()
	for _, triedOut := range []bool{false, true} {
		t.Run(fmt.Sprintf("tried out %v", triedOut), func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, from *redistest.Server) {
				to := another(t, from)
				source, target := mustNew(t, redistest.NewClient(t, from), Options{}), mustNew(t, redistest.NewClient(t, to), Options{})
				address := redistest.NewProxy(t, from)
				worker, err := allocator.New(redistest.NewClient(t, address), allocator.Options{})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = worker.Close(t.Context()) })
				take := func(n int64) allocator.Range {
					t.Helper()
					got, err := worker.NextIdentities(t.Context(), "companies", n)
					if err != nil {
						t.Fatal(err)
					}
					return got
				}
				take(10)
				kept := from.Client(t).HGetAll(t.Context(), companies).Val()
				lost := take(5000)
				kept["Origin"] = "0123456789012345678901234567890123456789" // the server was restarted since
				from.Client(t).Del(t.Context(), companies)
				from.Client(t).HSet(t.Context(), companies, kept)

				if triedOut {
					for _, value := range []int64{5, 0} {
						if _, err := target.SeedIdentity(t.Context(), "companies", value, true); err != nil {
							t.Fatal(err)
						}
					}
				}
				move(t, source, target)
				address.Redirect(to)
				if got := take(1); got.Low <= lost.High {
					t.Errorf("got %d, which the worker was issued before, want it above %d", got.Low, lost.High)
				}
			})
		})
	}
}

const companies = "{Raven}/Identities/companies"

// another starts a server of the same kind.
func another(t *testing.T, s *redistest.Server) *redistest.Server {
	t.Helper()
	for _, b := range redistest.Binaries(t) {
		if b.Name == s.Name() {
			return redistest.Start(t, b)
		}
	}
	return redistest.StartMini(t)
}

// move moves a namespace by the steps that the command line takes.
func move(t *testing.T, source, target *Admin) {
	t.Helper()
	all, err := source.Export(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	filling, err := target.ForPrefix(t.Context(), all.Server)
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range filling.Import(t.Context(), all.States) {
		if got.Err != nil {
			t.Fatal(got.Err)
		}
	}
	if err := target.SetServerPrefix(t.Context(), all.Server); err != nil {
		t.Fatal(err)
	}
}
