package protocol

import (
	"syscall"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// recovery fills a pool, waits for a signal, and prints how many requests the next identity takes.
const recovery = `
import signal, sys, redis, hilo

class Counting(redis.Redis):
    sent = 0
    def evalsha(self, *args):
        Counting.sent += 1
        return super().evalsha(*args)

signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
host, port = sys.argv[1].split(":")
client = Counting(host, int(port), socket_timeout=0.5, single_connection_client=bool(sys.argv[2]))
ids = hilo.Client(client, timeout=30)
print(ids.next_identity("companies"), flush=True)
pool = client.connection_pool
held = [pool.get_connection("PING") for _ in range(int(sys.argv[3]))]
for connection in held:
    connection.send_command("PING")
    connection.read_response()
    pool.release(connection)
print("ready", flush=True)
signal.sigwait({signal.SIGUSR1})
Counting.sent = 0
print(ids.next_identity("companies"), Counting.sent, flush=True)
`

// recoverFrom runs recovery with a pool, and causes the fault as soon as the pool is full.
func recoverFrom(t *testing.T, p *redistest.Proxy, single, pool string, fault func()) []string {
	t.Helper()
	python := start(t, "-c", recovery, p.Addr(), single, pool)
	python.lines(t, 2)
	fault()
	if err := python.Process.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	lines := python.lines(t, -1)
	if code := python.end(t); code != 0 {
		t.Fatalf("it ends with %d: %s", code, python.stderr.String())
	}
	return lines
}

func TestPythonRecoversFromASilentOutageWithOneAttempt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ single, pool string }{
		"a pool":            {"", "20"},
		"single connection": {"single", "0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy := redistest.NewProxy(t, redistest.StartMini(t))
			wantLines(t, recoverFrom(t, proxy, test.single, test.pool, proxy.Freeze), []string{"companies/2 2"})
		})
	}
}

// The address of the primary moves, and the connections to the demoted server stay open.
func TestPythonFollowsAnAddressThatMovedInAFailover(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		replica := redistest.StartReplica(t, s)
		proxy := redistest.NewProxy(t, s)
		lines := recoverFrom(t, proxy, "", "20", func() {
			replica.Promote()
			s.Follow(replica)
			proxy.Move(replica)
		})
		if len(lines) != 1 || lines[0][len(lines[0])-2:] != " 2" {
			t.Errorf("%q, want an identity with 2 requests", lines)
		}
	})
}

func TestPythonRecognisesAServerThatIsNoPrimary(t *testing.T) {
	t.Parallel()
	p := start(t, "-c", `
import hilo, redis
from redis.exceptions import *
for error in [ReadOnlyError("You can't write"), MasterDownError("down"), ResponseError("READONLY You can't write"),
              ResponseError("ERR READONLY You can't write"), ResponseError("Error running script: -READONLY You can't write")]:
    assert hilo.not_primary(error) and hilo.outcome("key", error) is None, error
for error in [ResponseError("HILO_MIXED key READONLY is"), ResponseError("WRONGTYPE"), ConnectionError("refused")]:
    assert not hilo.not_primary(error), error
`)
	if code := p.end(t); code != 0 {
		t.Errorf("it ends with %d: %s", code, p.stderr.String())
	}
}
