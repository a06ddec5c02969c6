package clitest

import (
	"strings"
	"testing"
)

// Password is one that is easily found in an output.
const Password = "S3cr3t/of@Ann"

// CheckNoPassword fails where a run showed the password.
func CheckNoPassword(t *testing.T, what string, r Result) {
	t.Helper()
	for _, secret := range []string{"S3cr3t", "of@Ann", "of%40Ann"} {
		if strings.Contains(r.Stdout+r.Stderr, secret) {
			t.Errorf("%s shows the password: %q %q", what, r.Stdout, r.Stderr)
		}
	}
}
