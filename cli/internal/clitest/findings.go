package clitest

import (
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/finding"
)

// WantFinding fails the test without a matching finding. The server is "" for findings about all servers, or one without a
// name.
func WantFinding(t *testing.T, findings []finding.Finding, check, server string, l finding.Level, what string) {
	t.Helper()
	for _, f := range findings {
		if f.Check == check && f.Server == server && f.Level == l && strings.Contains(f.What, what) {
			return
		}
	}
	t.Errorf("no finding %s of %q is %s: %q; got %+v", check, server, l, what, findings)
}

// CheckComplete checks that a finding has a reason, and a remedy if it is a warning or a fault.
func CheckComplete(t *testing.T, f finding.Finding) {
	t.Helper()
	bad := f.Level == finding.Fault || f.Level == finding.Warning
	if bad && f.Do == "" || (bad || f.Level == finding.Unknown) && f.Why == "" || f.Check == "" {
		t.Errorf("%+v lacks a check, a reason or a remedy", f)
	}
}
