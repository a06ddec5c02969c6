package cli

import (
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// A server without INFO cannot show that it has no replicas. The operator can.
func TestReplicasNoneIsForServersWithoutINFO(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		operator := s.Client(t)
		clitest.Must(t, "seed", "orders", "--max", "10", "--redis", s.URL())
		export := clitest.Must(t, "export", "--redis", s.URL())
		if err := operator.Do(t.Context(), "ACL", "SETUSER", "default", "-info").Err(); err != nil {
			t.Fatal(err)
		}
		file := clitest.WriteFile(t, export)
		for _, command := range []string{
			"seed users --max 5", "seed --file " + clitest.WriteFile(t, "collection,max\npeople,7\n"), "identity seed companies --value 5", "import " + file,
			"settings set NorthServer/ --identities --yes", "settings clear --yes",
		} {
			args := append(strings.Fields(command), "--redis", s.URL())
			clitest.MustFail(t, exit.Failed, clitest.Hilo(t, args...), "--replicas-none")
			clitest.Must(t, append(args, "--replicas-none")...)
		}
	})
}
