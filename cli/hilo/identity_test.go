package main

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// The server has on disk what it acknowledged.
func TestIdentitiesNeverRepeatOverAKill(t *testing.T) {
	t.Parallel()
	hilo := binary(t)
	for _, server := range redistest.Binaries(t) {
		t.Run(server.Name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, server, "--appendonly", "yes", "--appendfsync", "always", "--save", "")
			if twice := givenTwice(identitiesOverAKill(t, hilo, s)); len(twice) > 0 {
				t.Errorf("%d values were given twice, %q among them", len(twice), twice[0])
			}
		})
	}
}

// TestIdentitiesRepeatIfTheServerLosesWrites shows that the test above can fail.
func TestIdentitiesRepeatIfTheServerLosesWrites(t *testing.T) {
	t.Parallel()
	hilo := binary(t)
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		if len(givenTwice(identitiesOverAKill(t, hilo, s))) == 0 {
			t.Error("an empty server went on as if it knew what was given")
		}
	})
}

// run is one process that took identities.
type run struct {
	before bool // started before the server was killed
	failed bool // with exit 3, since it found no server, or with 4, since that was not initialised again
	values string
}

// identitiesOverAKill keeps 8 processes running that take identities of one name. It kills and restarts their server until the
// kill has hit a running process, and returns everything that was printed.
func identitiesOverAKill(t *testing.T, hilo string, s *redistest.Server) (outputs []string) {
	t.Helper()
	const processes = 8
	var killed, enough atomic.Bool
	var running sync.WaitGroup
	runs := make(chan run)
	for range processes {
		running.Go(func() {
			for !enough.Load() {
				r := run{before: !killed.Load()}
				r.values, r.failed = takeIdentities(t, hilo, s)
				runs <- r
			}
		})
	}
	// await waits for so many more runs for which wanted is true.
	await := func(many int, wanted func(run) bool) {
		for many > 0 {
			r := <-runs
			outputs = append(outputs, r.values)
			if wanted(r) {
				many--
			}
		}
	}
	hits := 0
	for kills := 1; hits == 0; kills++ {
		await(2*processes, func(r run) bool { return !r.failed })
		killed.Store(true)
		s.Kill()
		await(processes, func(r run) bool {
			if r.failed && r.before {
				hits++
			}
			return r.failed
		})
		s.Restart()
		s.Initialize("Raven") // as an operator does who takes an empty server for a new one
		killed.Store(false)
		await(2*processes, func(r run) bool { return !r.failed })
		t.Logf("kill %d hit %d running processes", kills, hits)
	}
	enough.Store(true)
	go func() { running.Wait(); close(runs) }()
	for r := range runs {
		outputs = append(outputs, r.values)
	}
	return outputs
}

// takeIdentities runs one process and returns its output, even if it failed.
func takeIdentities(t *testing.T, hilo string, s *redistest.Server) (values string, failed bool) {
	t.Helper()
	const unavailable, refused = 3, 4
	command := exec.CommandContext(t.Context(), hilo, "identity", "next", "companies", "--count", "300", "--redis", s.URL())
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	exit := (*exec.ExitError)(nil)
	failed = errors.As(err, &exit) && (exit.ExitCode() == unavailable || exit.ExitCode() == refused)
	if count := strings.Count(stdout.String(), "\n"); err != nil && !failed || err == nil && count != 300 {
		t.Errorf("%d values, %v, stderr %q", count, err, stderr.String())
	}
	return stdout.String(), failed
}

func givenTwice(outputs []string) (twice []string) {
	given := make(map[string]bool)
	for _, output := range outputs {
		for value := range strings.Lines(output) {
			if given[value] {
				twice = append(twice, value)
			}
			given[value] = true
		}
	}
	return twice
}
