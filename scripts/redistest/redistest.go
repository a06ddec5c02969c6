// Package redistest gives tests a Redis of their own: miniredis, and every real server that this machine has.
//
// miniredis is not Redis, and Redis is not Valkey, so what a test claims must hold on all of them:
//
//	func TestNextCountsUp(t *testing.T) {
//		t.Parallel()
//		redistest.Each(t, func(t *testing.T, s *redistest.Server) {
//			client := s.Client(t)
//			// …
//		})
//	}
//
// # Variables
//
// Real servers are the redis-server and valkey-server in PATH. Without any of them the tests run on miniredis alone.
//
//   - HILO_TEST_SERVERS names more executables, as absolute paths with colons between them.
//   - HILO_TEST_SERVERS_REQUIRED=1 makes it a failure when Redis 7, Redis 8 or Valkey 8 is not among them, or anything
//     else is missing that a test would be skipped for, such as psql or jq: see [Missing].
//   - HILO_TEST_SHELLS_REQUIRED=1 makes it a failure when bash, zsh or fish is missing, in which completions are tried.
//
// On a Debian 12 `.ci/servers` makes all three servers, and prints what HILO_TEST_SERVERS is to be.
//
// Every server is started on addresses of its own and is gone, with its directory, when the test ends. It is empty but for the
// settings of the default namespace: see [Server.Initialize]. Its methods that can fail end the test, so Kill, Restart, Pause and
// Resume belong on the test's own goroutine.
package redistest

import (
	"flag"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"
)

// Main runs the tests of a package that starts servers, from its TestMain. Such tests wait most of the time, so six per processor
// run at once, unless -parallel is set. A goroutine that is left behind fails the run.
func Main(m *testing.M) {
	logging.Disable()       // go-redis reports what tests bring about on purpose
	debug.SetGCPercent(400) // what the servers of tests allocate is small, and soon forgotten
	Parallel(6)
	goleak.VerifyTestMain(settling{m})
}

// Parallel makes n tests per processor run at once, unless -parallel is set or Parallel was called before.
func Parallel(n int) {
	flag.Parse()
	const name = "test.parallel"
	set := false
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	if set {
		return
	}
	if err := flag.Set(name, strconv.Itoa(n*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
}

// settling runs tests and then waits for goroutines that end by themselves. go-redis dials a server that is gone once a second,
// and finds only then that the client was closed, which is later than goleak waits.
type settling struct{ *testing.M }

func (m settling) Run() int {
	code := m.M.Run()
	for range 10 {
		if code != 0 || goleak.Find() == nil {
			break
		}
	}
	return code
}

// Each runs test as a parallel subtest on miniredis and on every real server found, each with a fresh, empty server of
// its own. As with all parallel subtests, code after Each runs before them.
func Each(t *testing.T, test func(t *testing.T, s *Server)) {
	t.Helper()
	t.Run(miniName, func(t *testing.T) {
		t.Parallel()
		test(t, StartMini(t))
	})
	EachReal(t, test)
}

// EachReal runs test as Each does, but not on miniredis. If no real server is found, it logs that and runs nothing.
func EachReal(t *testing.T, test func(t *testing.T, s *Server)) {
	t.Helper()
	binaries := Binaries(t)
	if len(binaries) == 0 {
		t.Log("no real server is here: neither redis-server nor valkey-server in PATH, nothing in " + serversEnv)
	}
	for _, b := range binaries {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			test(t, Start(t, b))
		})
	}
}
