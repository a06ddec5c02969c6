package cli

import (
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// It lowers the identity until a worker starts that has not seen a greater value.
func TestVerifyFindsDuplicatesOfIdentities(t *testing.T) {
	t.Parallel()
	clitest.EachStart(t, func(t *testing.T, startServer func(...string) *redistest.Server) {
		north, _, flags := clitest.Masters(t, func() *redistest.Server { return startServer() })
		v := startVerify(t, append(flags, "--prefer", "south", "--kill-workers", "--duration", "1h", "--rate", "2000", "--workers", "3", "--timeout", "10s")...)
		client := north.Client(t)
		for !v.printed("DUPLICATES: ") && !v.over() {
			for _, key := range client.Keys(t.Context(), "*/Identities/*").Val() {
				client.HSet(t.Context(), key, "Value", 0)
			}
		}
		r := v.interrupt()
		got := clitest.Decode[verifyReport](t, r.Stdout)
		if r.Code != exit.Fault || got.Duplicates == 0 || got.Proven || len(got.Repeated) == 0 {
			t.Fatalf("exit %d: %+v", r.Code, got)
		}
		for _, again := range got.Repeated {
			if !strings.HasPrefix(again.First, "identity"+"/") {
				t.Errorf("%+v", again)
			}
		}
	})
}
