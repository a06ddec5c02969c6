package cli

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// Commands that look, decide and then write run once for each reply that they receive. Right before that reply something else happens
// that changes what they may have looked at.
func TestSettingsChangeOnlyWhileTheirReasonsHold(t *testing.T) {
	t.Parallel()
	file := clitest.WriteFile(t, exportOf(`,"serverPrefix":"North/"`))
	const setting, identity = "settings set --max-value 1000000000000", "identity next companies"
	for i, test := range []struct{ name, command, meanwhile string }{ // each on one server, as they are many runs
		{"settings set and another setting", "settings set North/", setting},
		{"settings set and the first identity", "settings set North/", identity},
		{"import and another setting", "import --from-namespace Raven " + file, setting},
		{"import and the first identity", "import --from-namespace Raven " + file, identity},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			binaries := redistest.Binaries(t)
			if len(binaries) == 0 {
				redistest.Missing(t, "a real server")
			}
			s := redistest.Start(t, binaries[i%len(binaries)])
			begun := betweenReplies(t, s, test.command, test.meanwhile, func(namespace string, done, other clitest.Result) {
				stored := s.Client(t).HGetAll(t.Context(), prefix.NewKeys(namespace).Server()).Val()
				if got := stored["ServerPrefix"] == "North/"; got != (done.Code == exit.Done) && !strings.Contains(done.Stderr, "after 1 of 1 counter") {
					t.Errorf("got %+v and the settings %v", done, stored)
				}
				if got := stored["NewCounters"] == "no"; got != strings.Contains(done.Stderr, "makes no counters until hilo settings set --seeded-only=false") {
					t.Errorf("got %+v and the settings %v", done, stored)
				}
				if other.Code != exit.Done {
					return
				}
				if test.meanwhile == setting && stored["MaxValue"] == "" {
					t.Errorf("got %+v, then %+v and the settings %v, want both changes or an error", other, done, stored)
				}
				again := clitest.Hilo(t, strings.Fields(test.meanwhile+" --namespace "+namespace+" --redis "+s.URL())...)
				if again.Code != exit.Done {
					t.Errorf("got %+v, then %+v, and then %+v: identities ended without a word", other, done, again)
				}
			})
			if begun < 3 {
				t.Errorf("%q was served in %d runs, want more", test.meanwhile, begun)
			}
		})
	}
}

// betweenReplies runs a command until it receives fewer than n replies, with n from 1 on, each time in a namespace of its own, and
// another command right before the n-th one. It returns in how many runs the other one was served.
func betweenReplies(t *testing.T, s *redistest.Server, command, meanwhile string,
	check func(namespace string, done, other clitest.Result),
) (served int) {
	t.Helper()
	proxy := redistest.NewProxy(t, s)
	for n := int64(1); ; n++ {
		namespace := fmt.Sprint("n", n)
		s.Initialize(namespace)
		run := func(line, url string) clitest.Result {
			return clitest.Hilo(t, strings.Fields(line+" --namespace "+namespace+" --redis "+url)...)
		}
		var replies atomic.Int64
		others := make(chan clitest.Result, 1)
		proxy.Tamper(func(reply []byte) (delay time.Duration, pass int) {
			if replies.Add(1) == n {
				others <- run(meanwhile, s.URL())
			}
			return 0, len(reply)
		})
		done := run(command, "redis://"+proxy.Addr())
		if replies.Load() < n {
			if done.Code != exit.Done {
				t.Errorf("got %+v, with nothing in between", done)
			}
			return served
		}
		other := <-others
		if other.Code == exit.Done {
			served++
		}
		check(namespace, done, other)
	}
}
