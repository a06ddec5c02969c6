package scripts

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// A state machine performs everything that can happen to a counter, in any order. Requests and returns are lost, repeated and
// late, workers end, and the counter is seeded, edited by hand, rolled back and lost. As long as no more than the gap is lost, no
// number is issued to two workers.
func TestScriptsNeverIssueANumberTwice(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		rapid.Check(t, func(rt *rapid.T) { runMachine(t, rt, s, client) }) // on a failure it prints the seed
	})
}

func runMachine(t *testing.T, rt *rapid.T, s *redistest.Server, client redistest.Client) {
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		rt.Fatal(err)
	}
	m := &machine{t: t, server: s, client: client, owner: make(map[int64]*worker)}
	for range 2 {
		m.fleet = append(m.fleet, new(worker))
	}
	rt.Repeat(map[string]func(*rapid.T){
		"next":        m.next, // twice, to be drawn more often
		"next range":  m.next,
		"send again":  m.sendAgain,
		"late next":   m.lateNext,
		"use":         m.use,
		"return":      m.returnUnused,
		"return more": m.returnUnused,
		"late return": m.lateReturn,
		"end":         m.end,
		"seed":        m.seed,
		"edit":        m.edit,
		"snapshot":    m.snapshot,
		"roll back":   m.rollBack,
		"promote":     m.promote,
		"delete":      m.delete,
		"":            m.check,
	})
}

// worker is a client and the ranges that it holds.
type worker struct {
	held    []*holding   // the oldest first
	pending *NextRequest // its reply was lost
}

type holding struct {
	Range
	token string
	used  int64 // the last number used, or Low-1
}

// machine is the model of one counter and of all workers that hold numbers of it.
type machine struct {
	t         *testing.T
	server    *redistest.Server
	client    redistest.Client
	count     int // makes tokens and replication ids unique
	fleet     []*worker
	owner     map[int64]*worker // by number that was issued and not returned
	nexts     []NextRequest
	returns   []ReturnRequest
	snapshots []map[string]string
	seeded    int64 // the greatest seed that was not lost
	gone      bool  // more was lost than the gap, or nothing shows it but a floor
}

func (m *machine) unique(what string) string {
	m.count++
	return fmt.Sprintf("%s %d", what, m.count)
}

// greatest returns the greatest number that any worker holds, or that w holds if it is not nil.
func (m *machine) greatest(w *worker) int64 {
	var greatest int64
	for n, owner := range m.owner {
		if w == nil || owner == w {
			greatest = max(greatest, n)
		}
	}
	return greatest
}

func (m *machine) stands() int64 {
	state := stored(m.t, m.client)
	if state["Max"] == "" {
		return 0
	}
	return number(m.t, state["Max"])
}

// pick draws an element, and skips the action if there is none.
func pick[T any](rt *rapid.T, what string, from []T) T {
	if len(from) == 0 {
		rt.Skip()
	}
	return from[rapid.IntRange(0, len(from)-1).Draw(rt, what)]
}

func (m *machine) next(rt *rapid.T) {
	w := pick(rt, "worker", m.fleet) // a request that was not answered is given up
	m.send(rt, w, NextRequest{
		Token: m.unique("token"), Name: "orders",
		Capacity: rapid.Int64Range(1, 3).Draw(rt, "capacity"),
		Limit:    rapid.SampledFrom([]int64{1<<63 - 1, m.stands() + 5}).Draw(rt, "limit"),
	})
}

func (m *machine) sendAgain(rt *rapid.T) {
	w := pick(rt, "worker", m.fleet)
	if w.pending == nil {
		rt.Skip()
	}
	m.send(rt, w, *w.pending)
}

// send sends a request of w, whose reply may be lost. Numbers that arrive belong to w.
func (m *machine) send(rt *rapid.T, w *worker, r NextRequest) {
	r.Floor = m.greatest(w)
	// If nothing on the server shows how far the counter had come, only a worker whose floor shows it may request numbers.
	if greatest := m.greatest(nil); m.gone && greatest > 0 && (r.Floor <= m.stands() || r.Floor+rangeGap < greatest) {
		rt.Skip()
	}
	m.nexts = append(m.nexts, r)
	got, err := m.run(rt, r)
	if err != nil {
		w.pending = nil // an answer
		return
	}
	if rapid.IntRange(0, 4).Draw(rt, "the reply is lost") == 4 {
		w.pending = &r
		return
	}
	w.pending = nil
	w.held = append(w.held, &holding{got, r.Token, got.Low - 1})
	for n := got.Low; n <= got.High; n++ {
		if m.owner[n] != nil {
			rt.Fatalf("got %d twice, the second time in %d..%d, want distinct numbers", n, got.Low, got.High)
		}
		m.owner[n] = w
	}
}

// run runs the script for a request.
func (m *machine) run(rt *rapid.T, r NextRequest) (Range, error) {
	got, err := Next(m.t.Context(), m.client, keys, r)
	if err != nil && !errors.Is(err, ErrExhausted) {
		rt.Fatal(err)
	}
	m.gone = m.gone && (m.stands() < m.greatest(nil) || got.Evidence == "" && m.greatest(nil) > 0)
	return got, err
}

// lateNext sends a copy of an earlier request, whose client has given up waiting for the reply.
func (m *machine) lateNext(rt *rapid.T) {
	_, _ = m.run(rt, pick(rt, "request", m.nexts))
}

func (m *machine) use(rt *rapid.T) {
	h := pick(rt, "range", pick(rt, "worker", m.fleet).held)
	h.used = rapid.Int64Range(h.used, h.High).Draw(rt, "used")
}

// returnUnused returns what is unused at the end of the newest range. If nothing of it was used, it also returns what is unused
// of the ranges directly before. Numbers whose return fails are never used either.
func (m *machine) returnUnused(rt *rapid.T) {
	w := pick(rt, "worker", m.fleet)
	if len(w.held) == 0 || m.gone {
		rt.Skip()
	}
	newest := w.held[len(w.held)-1]
	r := back(newest.Range, newest.token, newest.used)
	newer := newest
	for _, h := range slices.Backward(w.held[:len(w.held)-1]) {
		if newer.Before != h.Written || r.Last != h.High {
			break
		}
		r.Last = h.used
		newer = h
	}
	w.held, w.pending = nil, nil
	m.returns = append(m.returns, r)
	m.takeBack(rt, r, w)
}

// lateReturn sends a copy of an earlier return. It may take back at most numbers that a late request took and no worker holds.
func (m *machine) lateReturn(rt *rapid.T) {
	if m.gone {
		rt.Skip()
	}
	m.takeBack(rt, pick(rt, "return", m.returns), nil)
}

// takeBack runs the script for a return of numbers that owner holds.
func (m *machine) takeBack(rt *rapid.T, r ReturnRequest, owner *worker) {
	ok, err := Return(m.t.Context(), m.client, r)
	if err != nil {
		rt.Fatal(err)
	}
	for n := r.Last + 1; ok && n <= r.End; n++ {
		if m.owner[n] != owner {
			rt.Fatalf("got %d taken back from another client, want it kept", n)
		}
		delete(m.owner, n)
	}
}

// end kills a worker and starts another one in its place.
func (m *machine) end(rt *rapid.T) {
	m.fleet[rapid.IntRange(0, len(m.fleet)-1).Draw(rt, "worker")] = new(worker)
}

func (m *machine) seed(rt *rapid.T) {
	value := rapid.Int64Range(max(0, m.stands()-20), m.stands()+20).Draw(rt, "value")
	if m.gone && value < m.greatest(nil) {
		rt.Skip()
	}
	stands := mustSeed(m.t, m.client, SeedRequest{Value: value})
	m.seeded = max(m.seeded, value)
	if stands < value {
		rt.Fatalf("got %d after a seed, want at least %d", stands, value)
	}
	m.gone = false
}

// edit raises Max by hand, at least to the greatest number that was issued, and sometimes to the end of a range that was
// returned.
func (m *machine) edit(rt *rapid.T) {
	least := max(m.stands()+1, m.greatest(nil))
	all := []int64{least + rapid.Int64Range(0, 20).Draw(rt, "more")}
	for _, r := range m.returns {
		if r.End >= least {
			all = append(all, r.End)
		}
	}
	to := pick(rt, "Max", all)
	set(m.t, m.client, "Max", to)
	m.seeded, m.gone = max(m.seeded, to), false
}

func (m *machine) snapshot(*rapid.T) {
	m.snapshots = append(m.snapshots, stored(m.t, m.client))
}

// rollBack restores older state, mostly with another replication id. Without that or without Origin only a floor shows the loss.
func (m *machine) rollBack(rt *rapid.T) {
	state := pick(rt, "snapshot", m.snapshots)
	m.client.Del(m.t.Context(), keys.Counter)
	if len(state) > 0 {
		set(m.t, m.client, state)
	}
	m.gone = true
	if rapid.IntRange(0, 3).Draw(rt, "promoted") > 0 {
		m.promote(rt)
		m.gone = state["Origin"] == "" || m.greatest(nil)-m.stands() > rangeGap
	}
	m.seeded = min(m.seeded, m.stands())
}

// promote changes the replication id. Alone it loses nothing.
func (m *machine) promote(*rapid.T) { m.server.ChangeReplicationID() }

func (m *machine) delete(*rapid.T) {
	m.client.Del(m.t.Context(), keys.Counter)
	m.gone, m.seeded = true, 0
}

// check checks what holds between any two steps.
func (m *machine) check(rt *rapid.T) {
	if stands := m.stands(); stands < m.seeded {
		rt.Fatalf("got %d, want at least the seed of %d", stands, m.seeded)
	}
}
