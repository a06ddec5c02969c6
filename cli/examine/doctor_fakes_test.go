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

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/finding"
	"github.com/hilo-id/hilo/cli/internal/target"
)

// found returns the findings of a check.
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

// double is a counter of a server that stores numbers as doubles.
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

func TestDoctorFindsAServerThatCountsInDoubles(t *testing.T) {
	t.Parallel()
	count := func(d double) []finding.Finding {
		var p probedServer
		p.checkCounting(t.Context(), &d)
		return p.Findings
	}
	got := count(double{})
	clitest.WantFinding(t, got, "exactness", "", finding.Fault, "above 9007199254740992 it issues 9007199254740992..9007199254740996, and should issue 9007199254740993..9007199254740995")
	for _, f := range got {
		clitest.CheckComplete(t, f)
	}
	got = count(double{err: errors.New("ERR unknown command 'EVALSHA'")})
	clitest.WantFinding(t, got, "scripts", "", finding.Fault, "unknown command")
	if got := count(double{err: allocator.ErrCorrupt}); got != nil {
		t.Errorf("%+v", got)
	}
}

// fakeKeys is a probedServer that replicates its keys to other servers after a delay.
type fakeKeys struct {
	*probedServer
	redis.Cmdable // nil, for what the doctor does not call
	replicas      []*fakeKeys
	delay         time.Duration
	err           error

	mu   sync.Mutex // timers write too
	keys []string
}

func newFakeKeys(name string) *fakeKeys {
	s := &fakeKeys{probedServer: &probedServer{
		doctor: doctor{Session: &base.Session{Namespace: "Raven", Timeout: time.Minute}},
		Target: target.Target{Name: name}, Sheet: finding.Sheet{Server: name},
	}}
	s.own = s
	return s
}

func (s *fakeKeys) HSet(_ context.Context, key string, _ ...any) *redis.IntCmd {
	if s.err != nil {
		return redis.NewIntResult(0, s.err)
	}
	s.add(key)
	for _, other := range s.replicas {
		time.AfterFunc(s.delay, func() { other.add(key) })
	}
	return redis.NewIntResult(1, nil)
}

func (s *fakeKeys) HDel(_ context.Context, key string, _ ...string) *redis.IntCmd {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = slices.DeleteFunc(s.keys, func(k string) bool { return k == key })
	return redis.NewIntResult(1, nil)
}

func (s *fakeKeys) Exists(_ context.Context, keys ...string) *redis.IntCmd {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.keys, keys[0]) {
		return redis.NewIntResult(1, nil)
	}
	return redis.NewIntResult(0, nil)
}

func (*fakeKeys) PExpire(context.Context, string, time.Duration) *redis.BoolCmd {
	return redis.NewBoolResult(true, nil)
}

func (s *fakeKeys) add(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = append(s.keys, key)
}

func TestDoctorFindsMastersThatShareData(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		ab   bool // a replicates to b
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
				a, b, c := newFakeKeys("a"), newFakeKeys("b"), newFakeKeys("c")
				a.delay, b.delay = 500*time.Millisecond, 500*time.Millisecond
				if test.ab {
					a.replicas = append(a.replicas, b)
				}
				if test.ba {
					b.replicas = append(b.replicas, a)
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
					t.Errorf("got %+v, want one finding of the same run_id", all)
				}
			})
		})
	}
}

func TestDoctorReportsAServerThatTakesNoTestKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b := newFakeKeys("a"), newFakeKeys("b")
		a.err = errors.New("NOPERM")
		checkSharing(t.Context(), []*probedServer{a.probedServer, b.probedServer}, &finding.Sheet{})
		all := a.Findings
		if len(all) == 0 || all[0].Server != "a" || all[0].Level != finding.Unknown || !strings.Contains(all[0].What, "NOPERM") {
			t.Errorf("%+v", all)
		}
	})
}
