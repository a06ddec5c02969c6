package faults

import (
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/hilo-id/hilo/scripts/redistest"
)

var pythonPath = sync.OnceValue(func() string {
	for _, name := range []string{"/usr/bin/python3", "python3"} { // that in PATH may lack Debian's packages
		if exec.Command(name, "-c", "import redis; assert redis.VERSION >= (4,)").Run() == nil {
			return name
		}
	}
	return ""
})

// python returns a Python that has redis-py.
func python(t *testing.T) string {
	t.Helper()
	if pythonPath() == "" {
		redistest.Missing(t, "Python 3 with redis-py (Debian: python3-redis)")
	}
	for _, file := range []string{"worker.py", "../../scripts/protocol/hilo.py"} { // so that go test's cache depends on them
		if _, err := os.Stat(file); err != nil {
			t.Fatal(err)
		}
	}
	return pythonPath()
}

// mixed returns four jobs, for numbers of a collection and for values of an identity, each in Go and in Python. An identity is
// requested more slowly, since fewer of its values can be lost without evidence.
func mixed(server address) []job {
	number := steady(server)
	number.DurableTimeout = 200 * time.Millisecond // only where the server requires replicas
	value := number
	value.Identity, value.Batch = true, 4
	jobs := []job{number, value, number, value}
	jobs[2].Python, jobs[3].Python = true, true
	return jobs
}

// Go and Python share the counters of a collection and of an identity. First a stopped replica is promoted, with two new workers.
// Then it restarts empty, under workers that were all running before.
func TestMixedFleetRepeatsNoNumberWhenWritesAreLost(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, b redistest.Binary) {
		proves(t, func(t *testing.T, f *fleet) {
			heir := f.promoteUnderMixed(b, false)
			before := f.ledger().Duplicates
			heir.Restart()
			f.awaitEach(100)
			if f.bare && f.ledger().Duplicates == before {
				t.Error("no number was used twice after the restart: the fault does not show")
			}
		})
	})
}

func TestMixedFleetRepeatsNoNumberUnderReplicas(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, b redistest.Binary) {
		proves(t, func(_ *testing.T, f *fleet) { f.promoteUnderMixed(b, true) })
	})
}

// promoteUnderMixed starts a mixed fleet and promotes a stopped replica. It returns the new primary.
func (f *fleet) promoteUnderMixed(b redistest.Binary, replicas bool) (heir *redistest.Server) {
	f.t.Helper()
	primary, replica, address := pair(f.t, b)
	if replicas {
		stateReplicas(f.t, redistest.NewClient(f.t, primary))
	}
	jobs := mixed(through(address))
	for _, j := range jobs {
		f.start(1, j)
	}
	f.awaitEach(300)
	primary.PauseReplica(replica, filler)
	if replicas && !f.bare {
		for i, text := range []string{"not durable", "not durable", "fewer replicas", "fewer replicas"} {
			f.workers[i].awaitError(text)
		}
	} else {
		f.awaitEach(100) // more than each has in hand
	}
	primary.Kill()
	f.workers[0].kill()
	f.workers[3].kill()
	replica.Resume()
	replica.Promote()
	if replicas {
		redistest.StartReplica(f.t, replica)
	}
	address.Redirect(replica)
	f.start(1, jobs[1])
	f.start(1, jobs[2])
	f.awaitEach(100)
	return replica
}
