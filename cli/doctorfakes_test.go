package cli

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
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

func keysOfRaven() prefix.Keys { return prefix.NewKeys("Raven") }

func mustParse(t *testing.T, url string) target {
	t.Helper()
	parsed, err := parseTarget(url)
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

func (d *double) raise(_ context.Context, max int64) error {
	d.max = float64(max)
	return d.err
}

func (d *double) next(_ context.Context, capacity int64) (scripts.Range, error) {
	low := d.max + 1
	return scripts.Range{Low: int64(low), High: int64(low + float64(capacity) - 1)}, d.err
}

func TestAServerThatCountsWithDoublesIsFound(t *testing.T) {
	t.Parallel()
	got := diagnosis{findings: judged(checkCounting(t.Context(), &double{}))}
	got.must(t, "exactness", "", levelFault, "above 9007199254740992 it gives 9007199254740992..9007199254740996, and should give 9007199254740993..9007199254740995")
	for _, f := range got.Findings {
		checkComplete(t, f)
	}
	got = diagnosis{findings: judged(checkCounting(t.Context(), &double{err: errors.New("ERR unknown command 'EVALSHA'")}))}
	got.must(t, "scripts", "", levelFault, "unknown command")
	if got := checkCounting(t.Context(), &double{err: allocator.ErrCorrupt}); got != nil {
		t.Errorf("%+v", got)
	}
}

// sheet is a place of a group whose members see what the others wrote, in one direction or both, after a while.
type sheet struct {
	name  string
	on    []*sheet // that get what is written here
	after time.Duration
	err   error

	mu    sync.Mutex // timers write too
	notes []string
}

func (s *sheet) server() string { return s.name }

func (s *sheet) leave(_ context.Context, nonce string) error {
	if s.err != nil {
		return s.err
	}
	s.note(nonce)
	for _, other := range s.on {
		time.AfterFunc(s.after, func() { other.note(nonce) })
	}
	return nil
}

func (s *sheet) note(nonce string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, nonce)
}

func (s *sheet) sees(_ context.Context, nonce string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.notes, nonce)
}

func (s *sheet) remove(_ context.Context, nonce string) []finding {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = slices.DeleteFunc(s.notes, func(n string) bool { return n == nonce })
	return nil
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
		{"one way", true, false, "what is written on a comes up on b"},
		{"the other way", false, true, "what is written on b comes up on a"},
		{"both", true, true, "a and b see what is written on either: they replicate to each other, or are one"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a, b, c := &sheet{name: "a", after: 500 * time.Millisecond}, &sheet{name: "b", after: 500 * time.Millisecond}, &sheet{name: "c"}
				if test.ab {
					a.on = append(a.on, b)
				}
				if test.ba {
					b.on = append(b.on, a)
				}
				all := judged(checkSharing(t.Context(), []place{a, b, c}, nil, time.Second))
				if test.want == "" {
					if all.Faults > 0 || len(all.Findings) != 1 || all.Findings[0].Level != levelOK {
						t.Errorf("%+v", all)
					}
					return
				}
				if len(all.Findings) != 1 || all.Findings[0].Level != levelFault || all.Findings[0].What != test.want {
					t.Errorf("%+v", all)
				}
				known := make(pairs)
				known.add("a", "b")
				if again := judged(checkSharing(t.Context(), []place{a, b, c}, known, time.Second)); again.Faults > 0 {
					t.Errorf("said again, though known: %+v", again)
				}
			})
		})
	}
}

func TestAPlaceThatTakesNothingIsUnknown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := checkSharing(t.Context(), []place{&sheet{name: "a", err: errors.New("NOPERM")}, &sheet{name: "b"}}, nil, time.Second)
		if len(all) == 0 || all[0].Server != "a" || all[0].Level != levelUnknown || !strings.Contains(all[0].What, "NOPERM") {
			t.Errorf("%+v", all)
		}
	})
}
