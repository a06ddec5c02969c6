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
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

var calls = flag.Int("calls", 2000, "how many calls are compared between a server and the one that its namespace was moved to")

// movedClients are the clients of a namespace. Each has marks of its own, of the server that it uses.
type movedClients struct {
	t       *testing.T
	keys    prefix.Keys
	marks   [servers][2]map[string]*scripts.Marks // of each client, by counter
	history []string
}

// servers are the old and the new one. Until the move the second is not used.
const servers = 2

// call makes a call to one of the servers. record records its outcome in the client that made it.
type call func(client *redis.Client, server int) (got outcome, record func())

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
	r := scripts.NextRequest{Token: fmt.Sprint(rand.Uint64()), Name: name, Capacity: 1 + rand.Int64N(64), Limit: limit()}
	flags := flags()
	back := rand.Int64N(3 * r.Capacity) // mostly nothing
	f.notef("client %d: next %+v, %+v, and returns all but %d", of, r, flags, back)
	return func(client *redis.Client, server int) (outcome, func()) {
		marks := f.known(server, of, keys.Counter)
		r.Marks = with(*marks, flags)
		got, err := scripts.Next(f.t.Context(), client, keys, r)
		returned := false
		if last := got.Low - 1 + back; err == nil && last < got.High {
			returned, _ = scripts.Return(f.t.Context(), client, scripts.ReturnRequest{
				Counter: keys.Counter, Token: r.Token, End: got.High, Last: last, Epoch: got.Epoch, Written: got.Written,
			})
		}
		return compared(got, err, returned), func() {
			if err == nil && !returned {
				record(marks, got)
			}
		}
	}
}

func (f *movedClients) identity(name string, of int) call {
	keys := scripts.Keys{Counter: f.keys.Identity(name), Server: f.keys.Server(), Other: f.keys.HiLo(name)}
	r := scripts.IdentityRequest{Token: fmt.Sprint(rand.Uint64()), Name: name, Count: 1 + rand.Int64N(64), Limit: limit(), Anywhere: rand.IntN(4) == 0}
	if rand.IntN(4) == 0 {
		r.Count, r.Exact = 1, 1+rand.Int64N(6000)
	}
	flags := flags()
	f.notef("client %d: identity %+v, %+v", of, r, flags)
	return f.values(keys, r, of, flags)
}

func (f *movedClients) serverSide(of int) call {
	keys := scripts.Keys{Counter: f.keys.ServerSide(), Server: f.keys.Server(), Other: f.keys.Server()}
	r := scripts.IdentityRequest{Token: fmt.Sprint(rand.Uint64()), Name: "users/", Count: 1, Limit: limit()}
	f.notef("client %d: server-side %+v", of, r)
	return f.values(keys, r, of, scripts.Marks{})
}

// values returns a call of the script identity.
func (f *movedClients) values(keys scripts.Keys, r scripts.IdentityRequest, of int, flags scripts.Marks) call {
	return func(client *redis.Client, server int) (outcome, func()) {
		marks := f.known(server, of, keys.Counter)
		r.Marks = with(*marks, flags)
		got, err := scripts.Identity(f.t.Context(), client, keys, r)
		return compared(got, err, false), func() {
			if err == nil && got.Low > 0 {
				record(marks, got)
			}
		}
	}
}

func (f *movedClients) seed(name string) call {
	value, force, kind := rand.Int64N(4000), rand.IntN(2) == 0, rand.IntN(2) == 0
	f.notef("seed %s, identity %v, to %d, force %v", name, kind, value, force)
	return func(client *redis.Client, _ int) (outcome, func()) {
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

// move makes the clients use the new server too, with the marks that they have.
func (f *movedClients) move() {
	f.notef("move")
	for of, counters := range f.marks[0] {
		for counter, marks := range counters {
			*f.known(1, of, counter) = *marks
		}
	}
}

func (f *movedClients) known(server, client int, counter string) *scripts.Marks {
	marks := &f.marks[server][client]
	if *marks == nil {
		*marks = make(map[string]*scripts.Marks)
	}
	if (*marks)[counter] == nil {
		(*marks)[counter] = new(scripts.Marks)
	}
	return (*marks)[counter]
}

func limit() int64 { return []int64{math.MaxInt64, math.MaxInt64, 5000}[rand.IntN(3)] }

// flags returns what a client may know besides its marks, and how long ago that was.
func flags() scripts.Marks {
	return scripts.Marks{Age: rand.Int64N(1000), Settled: rand.IntN(4) == 0, Mixed: rand.IntN(8) == 0}
}

func with(marks, flags scripts.Marks) scripts.Marks {
	marks.Age, marks.Settled, marks.Mixed = flags.Age, flags.Settled, flags.Mixed
	return marks
}

// record records a reply as a client does.
func record(marks *scripts.Marks, got scripts.Range) {
	if got.Lowered > marks.Lowered {
		marks.Floor, marks.Lowered = 0, got.Lowered
	}
	marks.Floor, marks.Epoch = max(marks.Floor, got.High), max(marks.Epoch, got.Epoch)
	marks.Ceiling, marks.Block = max(marks.Ceiling, got.Ceiling), max(marks.Block, got.Block)
}

// compared removes what differs between servers. These are times, the replication id, the birth of a counter that was made after the
// move, and the offset of a jump, which is derived from the id. A move resets Before, so that no range from before it can be returned.
func compared(got scripts.Range, err error, returned bool) outcome {
	if got.Evidence != "" {
		got.Low, got.High, got.Jump, got.Ceiling = 1, 1+got.High-got.Low, 0, 0
	}
	got.Written, got.Before, got.Origin, got.Epoch = 0, 0, "", got.Epoch%jumpsOf
	return outcome{Range: got, err: sentinelOf(err), returned: returned}
}

// sentinelOf returns the error of package scripts that err matches.
func sentinelOf(err error) error {
	for _, of := range []error{
		scripts.ErrCorrupt, scripts.ErrExhausted, scripts.ErrNotSeeded, scripts.ErrMixed, scripts.ErrElsewhere, scripts.ErrPrefixMissing, scripts.ErrChanged,
	} {
		if errors.Is(err, of) {
			return of
		}
	}
	return err
}

// settings returns random settings of a server.
func settings() prefix.Server {
	s := prefix.Server{Identities: rand.IntN(2) == 0, SeededOnly: rand.IntN(6) == 0}
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
	if err := source.Init(t.Context(), settings()); err != nil {
		t.Fatal(err)
	}
	for range rand.IntN(60) {
		_, record := f.choose()(from, 0)
		record()
	}
	all, err := source.Export(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := target.Init(t.Context(), all.Server); err != nil {
		t.Fatal(err)
	}
	for _, got := range target.Import(t.Context(), all.States) {
		if got.Err != nil {
			t.Fatal(got.Err)
		}
	}
	f.move()
	made := 0
	for want := (outcome{}); made < 40 && want.Evidence == ""; made++ { // after a jump they stand at different numbers
		do := f.choose()
		var records [servers]func()
		want, records[0] = do(from, 0)
		got, record := do(to, 1)
		records[1] = record
		for _, record := range records {
			record()
		}
		if got != want {
			t.Fatalf("got %+v of the new server, want %+v as of the old one, after\n%s", got, want, strings.Join(f.history, "\n"))
		}
	}
	return made
}

// Only the marks of a running worker show a loss that exceeds the margin, here of one large request. It counts at the new server
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
				lost := take(50_000)
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

// move moves a namespace by the steps that the command line takes.
func move(t *testing.T, source, target *Admin) {
	t.Helper()
	all, err := source.Export(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range target.Import(t.Context(), all.States) {
		if got.Err != nil {
			t.Fatal(got.Err)
		}
	}
	if err := target.SetServerPrefix(t.Context(), all.Server); err != nil {
		t.Fatal(err)
	}
}
