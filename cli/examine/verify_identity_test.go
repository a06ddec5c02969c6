package examine

import (
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// TestVerifyFindsDuplicatesOfIdentities lowers the identity at its home by hand, until workers
// that never saw it take the place of others.
func TestVerifyFindsDuplicatesOfIdentities(t *testing.T) {
	t.Parallel()
	clitest.EachStart(t, func(t *testing.T, start func(...string) *redistest.Server) {
		north, _, flags := clitest.Masters(t, func() *redistest.Server { return start() })
		v := begin(t, append(flags, "--prefer", "south", "--kill-workers", "--duration", "1h", "--rate", "2000", "--workers", "3")...)
		client := north.Client(t)
		for !v.said("DUPLICATES: ") && !v.over() {
			for _, key := range client.Keys(t.Context(), "*/Identities/*").Val() {
				client.HSet(t.Context(), key, "Value", 0)
			}
		}
		r := v.interrupt()
		got := clitest.Decode[report](t, r.Stdout)
		if r.Code != exit.Fault || got.Duplicates == 0 || got.Proven || len(got.Repeated) == 0 {
			t.Fatalf("exit %d: %+v", r.Code, got)
		}
		for _, again := range got.Repeated {
			if !strings.HasPrefix(again.First, identityName+"/") {
				t.Errorf("%+v", again)
			}
		}
	})
}
