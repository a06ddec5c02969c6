package clitest

import (
	"strings"
	"testing"
)

// Password is a password that is easy to find in output.
const Password = "S3cr3t/of@Ann"

// CheckNoPassword fails the test if a run printed the password.
func CheckNoPassword(t *testing.T, what string, r Result) {
	t.Helper()
	for _, secret := range []string{"S3cr3t", "of@Ann", "of%40Ann"} {
		if strings.Contains(r.Stdout+r.Stderr, secret) {
			t.Errorf("%s shows the password: %q %q", what, r.Stdout, r.Stderr)
		}
	}
}
