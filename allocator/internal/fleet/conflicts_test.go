package fleet

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/hilo-id/hilo/allocator/internal/failure"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// described is a server that only describes itself.
type described struct {
	Backend
	prefix string
	before func()       // it replies
	fails  func() error // in place of a description; may be nil
}

func (d *described) Describe(context.Context, string, How) (scripts.Description, error) {
	if d.before != nil {
		d.before()
	}
	if d.fails != nil {
		if err := d.fails(); err != nil {
			return scripts.Description{}, err
		}
	}
	return scripts.Description{Prefix: d.prefix}, nil
}

// newPair returns a fleet that issued identifiers of two servers, each of which was verified with its prefix.
func newPair(t *testing.T, north, south *described) *Fleet {
	t.Helper()
	f := New([]Config{{Name: "north", Backend: north, Namespace: "Raven"}, {Name: "south", Backend: south, Namespace: "Raven"}}, Options{
		AttemptTimeout: time.Second, Logger: zap.NewNop(),
		Recovered: func() int { return 0 }, NameServer: func(_ string, err error) error { return err },
	})
	t.Cleanup(func() { f.Close(); f.Wait() })
	f.served = true
	for s, prefix := range map[*Server]string{f.servers[0]: "N/", f.servers[1]: "S/"} {
		s.verified = report(t, s, prefix)
	}
	return f
}

// report records that a server reported a prefix.
func report(t *testing.T, s *Server, adds string) *Issuer {
	t.Helper()
	s.fleet.mu.Lock()
	defer s.fleet.mu.Unlock()
	from, err := s.recordPrefix(s.fleet.Now(), prefix.Server{ServerPrefix: adds}, "")
	if err != nil {
		t.Fatal(err)
	}
	return from
}

// The north takes the south's prefix for a while. Both are corrected while the last description of the north, in which it
// still has that prefix, is in flight.
func TestVerifyRefusesAPrefixThatAnotherServerHadBeforeItWasReportedAgain(t *testing.T) {
	t.Parallel()
	north, south := &described{prefix: "S/"}, &described{prefix: "S/"}
	f := newPair(t, north, south)
	north.before = func() { report(t, f.servers[1], "X/") }
	_, err := f.servers[0].verify(t.Context(), f.Now(), scripts.Range{Low: 1, High: 32, Prefix: "S/"})
	if !errors.Is(err, failure.ErrPrefixConflict) {
		t.Errorf("got error %v, want ErrPrefixConflict", err)
	}
}

func TestCheckServersVerifiesNoPrefixThatAnotherServerHadBeforeItWasReportedAgain(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, prefix string
		verified     bool
	}{{"a prefix of its own", "X/", true}, {"the other's prefix", "S/", false}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			north, south := &described{prefix: test.prefix}, &described{prefix: "S/"}
			f := newPair(t, north, south)
			from, calls := report(t, f.servers[0], test.prefix), 0
			north.before = func() {
				if calls++; calls == 2 {
					report(t, f.servers[1], "Y/")
				}
			}
			f.checkServers(f.servers...)
			if got := f.servers[0].verified == from; got != test.verified || calls != 2 {
				t.Errorf("got verified %v after %d descriptions, want %v after 2", got, calls, test.verified)
			}
		})
	}
}

// A server takes the prefix of another one. Of that one the client has only an earlier report, and has found it down.
func TestMonitorVerifiesAPrefixAgainstServersThatAreDown(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, other string
		verified    bool
	}{{"a prefix of its own", "S/", true}, {"the other's prefix", "X/", false}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := newPair(t, &described{prefix: "X/"}, &described{prefix: test.other})
			f.monitor = time.NewTimer(time.Hour)
			from := report(t, f.servers[0], "X/")
			f.servers[1].setDown(f.Now(), errors.New("connection refused"))
			f.runMonitor()
			if got := f.servers[0].verified == from; got != test.verified {
				t.Errorf("got verified %v, want %v", got, test.verified)
			}
		})
	}
}

// Nothing shows whether a server that fails meanwhile still has the prefix of its range.
func TestVerifyRefusesAPrefixThatTheServerDoesNotReportAgain(t *testing.T) {
	t.Parallel()
	north := &described{prefix: "X/", fails: func() error { return errors.New("connection refused") }}
	f := newPair(t, north, &described{prefix: "S/"})
	_, err := f.servers[0].verify(t.Context(), f.Now(), scripts.Range{Low: 1, High: 32, Prefix: "X/"})
	if !errors.Is(err, failure.ErrUnavailable) || f.servers[0].verified == f.servers[0].current {
		t.Errorf("got error %v, want ErrUnavailable, and a prefix that is not verified", err)
	}
}

func TestCheckServersVerifiesNoPrefixThatTheServerDoesNotReportAgain(t *testing.T) {
	t.Parallel()
	calls := 0
	north := &described{prefix: "X/", fails: func() error {
		if calls++; calls == 2 {
			return errors.New("connection refused")
		}
		return nil
	}}
	f := newPair(t, north, &described{prefix: "S/"})
	from := report(t, f.servers[0], "X/")
	f.checkServers(f.servers...)
	if f.servers[0].verified == from || calls != 2 {
		t.Errorf("got verified after %d descriptions, want it not verified after 2", calls)
	}
}
