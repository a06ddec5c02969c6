package examine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/finding"
	"github.com/hilo-id/hilo/cli/internal/target"
)

// found is what a check notes.
func found(check func(*finding.Sheet)) []finding.Finding {
	var s finding.Sheet
	check(&s)
	return s.Findings
}

func mustParse(t *testing.T, url string) target.Target {
	t.Helper()
	parsed, err := target.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// double counts as a server that keeps numbers as doubles would.
type double struct {
	max float64
	err error
}

func (d *double) Raise(_ context.Context, max int64) error {
	d.max = float64(max)
	return d.err
}

func (d *double) Next(_ context.Context, capacity int64) (got admin.Range, guarded bool, err error) {
	low := d.max + 1
	return admin.Range{Low: int64(low), High: int64(low + float64(capacity) - 1)}, true, d.err
}

func TestAServerThatCountsWithDoublesIsFound(t *testing.T) {
	t.Parallel()
	count := func(d double) []finding.Finding {
		var p probedServer
		p.checkCounting(t.Context(), &d)
		return p.Findings
	}
	got := diagnosis{All: finding.Of(count(double{}))}
	got.must(t, "exactness", "", finding.Fault, "above 9007199254740992 it issues 9007199254740992..9007199254740996, and should issue 9007199254740993..9007199254740995")
	for _, f := range got.Findings {
		checkComplete(t, f)
	}
	got = diagnosis{All: finding.Of(count(double{err: errors.New("ERR unknown command 'EVALSHA'")}))}
	got.must(t, "scripts", "", finding.Fault, "unknown command")
	if got := count(double{err: allocator.ErrCorrupt}); got != nil {
		t.Errorf("%+v", got)
	}
}

// page is the server of a probedServer, of a group whose members see what the others wrote, in one direction or both, after a
// while.
type page struct {
	*probedServer
	on    []*page // that get what is written here
	after time.Duration
	err   error

	mu   sync.Mutex // timers write too
	keys []string
}

func newPage(name string) *page {
	s := &page{probedServer: &probedServer{
		doctor: doctor{Session: &base.Session{Namespace: "Raven", Timeout: time.Minute}},
		Target: target.Target{Name: name}, Sheet: finding.Sheet{Server: name},
	}}
	s.own = s
	return s
}

func (s *page) HSet(_ context.Context, key, _, _ string) error {
	if s.err != nil {
		return s.err
	}
	s.note(key)
	for _, other := range s.on {
		time.AfterFunc(s.after, func() { other.note(key) })
	}
	return nil
}

func (s *page) HDel(_ context.Context, key string, _ ...string) error {
	s.clear(key)
	return nil
}

func (s *page) Exists(_ context.Context, key string) (bool, error) { return s.sees(key), nil }

func (*page) PExpire(context.Context, string, time.Duration) error { return nil }

func (s *page) note(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = append(s.keys, key)
}

func (s *page) sees(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.keys, key)
}

func (s *page) clear(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = slices.DeleteFunc(s.keys, func(k string) bool { return k == key })
}

func TestMastersThatShareAreFound(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		ab   bool // a's writes come up on b
		ba   bool
		want string
	}{
		{"neither", false, false, ""},
		{"one way", true, false, "what is written to a appears on b"},
		{"the other way", false, true, "what is written to b appears on a"},
		{"both", true, true, "what is written to a or b appears on both: they replicate to each other, or are one"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a, b, c := newPage("a"), newPage("b"), newPage("c")
				a.after, b.after = 500*time.Millisecond, 500*time.Millisecond
				if test.ab {
					a.on = append(a.on, b)
				}
				if test.ba {
					b.on = append(b.on, a)
				}
				share := func() finding.All {
					return finding.Of(found(func(s *finding.Sheet) {
						checkSharing(t.Context(), []*probedServer{a.probedServer, b.probedServer, c.probedServer}, s)
					}))
				}
				all := share()
				if test.want == "" {
					if all.Faults > 0 || len(all.Findings) != 1 || all.Findings[0].Level != finding.OK {
						t.Errorf("%+v", all)
					}
					return
				}
				if len(all.Findings) != 1 || all.Findings[0].Level != finding.Fault || all.Findings[0].What != test.want {
					t.Errorf("%+v", all)
				}
				a.nodes = []*node{{info: map[string]string{"run_id": "one"}}}
				b.nodes = a.nodes
				if all := share(); len(all.Findings) != 1 || all.Findings[0].What != "a and b are one server (same run_id)" {
					t.Errorf("not said, or not once: %+v", all)
				}
			})
		})
	}
}

func TestAPlaceThatTakesNothingIsUnknown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b := newPage("a"), newPage("b")
		a.err = errors.New("NOPERM")
		checkSharing(t.Context(), []*probedServer{a.probedServer, b.probedServer}, &finding.Sheet{})
		all := a.Findings
		if len(all) == 0 || all[0].Server != "a" || all[0].Level != finding.Unknown || !strings.Contains(all[0].What, "NOPERM") {
			t.Errorf("%+v", all)
		}
	})
}
