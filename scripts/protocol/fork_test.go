package protocol

import (
	"slices"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// forks is the common part of the programs below. Its child runs f in a forked process and returns the lines that it printed
// there.
const forks = `
import hilo, os, sys, threading
client = hilo.connect(sys.argv[1])
ids = hilo.Client(client)
def child(f):
    r, w = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.write(w, "".join(line + "\n" for line in f()).encode())
            code = 0
        finally:
            os._exit(code)
    os.close(w)
    with os.fdopen(r) as pipe:
        lines = pipe.read().splitlines()
    assert os.waitpid(pid, 0)[1] == 0, "the child failed"
    return lines
`

// runForked runs forks and program against a server and returns the lines.
func runForked(t *testing.T, s *redistest.Server, program string) []string {
	t.Helper()
	p := start(t, "-c", forks+program, s.URL())
	lines := p.lines(t, -1)
	if code := p.end(t); code != 0 || p.stderr.Len() > 0 {
		t.Errorf("exit code: got %d, want 0; stderr: %s", code, p.stderr.String())
	}
	return lines
}

func TestPythonForkIssuesNoIdentifierTwice(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		lines := runForked(t, s, `
some = lambda: [ids.next("orders") for _ in range(50)] + [ids.next_identity("companies")]
print(*some(), sep="\n")
def nested(): return some() + child(some) + some()
for f in [some, nested]:
    print(*child(f), *some(), sep="\n")
`)
		slices.Sort(lines)
		if got, want := len(slices.Compact(slices.Clone(lines))), 7*51; got != want || len(lines) != want {
			t.Errorf("got %d different identifiers of %d, want %d", got, len(lines), want)
		}
	})
}

// As with gunicorn --preload and multiprocessing, the parent takes a range and forks workers, which close their copies of the
// client.
func TestPythonForkMultiprocessingWorkersTakeTheirOwnRanges(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		lines := runForked(t, s, `
import multiprocessing
context = multiprocessing.get_context("fork")
def work(queue):
    queue.put([ids.next("orders") for _ in range(40)])
    ids.close()
all, queue = [ids.next("orders")], context.Queue()
workers = [context.Process(target=work, args=(queue,)) for _ in range(3)]
for worker in workers:
    worker.start()
all += [ids.next("orders") for _ in range(40)]
for worker in workers:
    all += queue.get()
for worker in workers:
    worker.join()
    assert worker.exitcode == 0
print(*all, *[ids.next("orders") for _ in range(40)], sep="\n")
ids.close()
`)
		slices.Sort(lines)
		if got, want := len(slices.Compact(slices.Clone(lines))), 201; got != want || len(lines) != want {
			t.Errorf("got %d different identifiers of %d, want %d", got, len(lines), want)
		}
	})
}

func TestPythonForkChildCloseReturnsNothingOfTheParent(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		wantLines(t, runForked(t, s, `
print(ids.next("orders"))
child(lambda: [ids.close()] and [])
print(client.hget("{Raven}/HiLo/orders", "Max").decode())
print(ids.next("orders"))
`), []string{"orders/1", "32", "orders/2"})
	})
}

// The parent returns the rest of its range after the fork, which the child must not mistake for lost writes.
func TestPythonForkChildContinuesWhereTheParentReturned(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		wantLines(t, runForked(t, s, `
print(ids.next("orders"))
def later():
    sys.stdin.readline()
    return [ids.next("orders")]
r, w = os.pipe()
os.dup2(r, 0)
closing = threading.Timer(0, lambda: (ids.close(), os.write(w, b"\n")))
fork = os.fork
def start():
    pid = fork()
    if pid:
        closing.start()
    return pid
os.fork = start
print(*child(later))
closing.join()
`), []string{"orders/1", "orders/2"})
	})
}

func TestPythonForkChildSendsTokensOfItsOwn(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		lines := runForked(t, s, `
def run(self, client, keys, args):
    tokens.append(args[0])
    raise hilo.redis.exceptions.ConnectionError("lost")
hilo.Script.run, ids.timeout, tokens = run, 0, []
def attempt():
    try:
        ids.next("orders")
    except hilo.Unavailable:
        return tokens[-1:]
print(*attempt(), *child(attempt), *child(attempt), *attempt(), sep="\n")
`)
		if len(lines) != 4 || lines[0] != lines[3] || lines[1] == lines[0] || lines[2] == lines[0] || lines[1] == lines[2] {
			t.Errorf("tokens of parent, two children and parent: got %q, want the parent's twice and two others", lines)
		}
	})
}

// Another thread of the parent holds every lock at the time of the fork.
func TestPythonForkReplacesLocksThatOtherThreadsHold(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		wantLines(t, runForked(t, s, `
import signal
ids.next("orders")
counter = ids.counters["{Raven}/HiLo/orders"]
with ids.lock, counter.lock:
    def attempt():
        signal.alarm(20)
        return [ids.next("orders")]
    print(*child(attempt))
`), []string{"orders/33"})
	})
}

// A signal handler that forks during a request leaves the request to the parent.
func TestPythonForkDuringACallIssuesTheNumberOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		wantLines(t, runForked(t, s, `
def forked(self, client, keys, args, run=hilo.Script.run):
    globals()["forked_pid"] = os.fork()
    return run(self, client, keys, args)
for call in [lambda: ids.next("orders"), lambda: ids.next_identity("companies")]:
    run, hilo.Script.run = hilo.Script.run, forked
    try:
        text = call()
    except hilo.Error as error:
        assert forked_pid == 0 and "forked" in str(error), error
        os._exit(7)
    assert forked_pid and os.waitstatus_to_exitcode(os.waitpid(forked_pid, 0)[1]) == 7, "the child got " + text
    hilo.Script.run = run
    print(text.split("/")[0])
`), []string{"orders", "companies"})
	})
}

// The server refuses the second kind by itself, unless it lost the key of the
// first one.
func TestPythonKeepsBothKindsOfANameApart(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, first, lost, second string }{
		{"an identity after a collection", "next", "HiLo", "next_identity"},
		{"a collection after an identity", "next_identity", "Identities", "next"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				program := strings.NewReplacer("FIRST", test.first, "LOST", test.lost, "SECOND", test.second).Replace(`
def second():
    try:
        return [ids.SECOND("Orders")]
    except hilo.Refused as error:
        return [str(error).split()[0]]
ids.FIRST("orders")
ids.SECOND("people") # a name of one kind is not refused
client.delete("{Raven}/HiLo/orders", "{Raven}/Identities/orders")
print(*second(), *second(), *child(second))
client.hset("{Raven}/ServerPrefixForHilo", mapping={"ServerPrefix": "North/", "Identities": "here"})
hilo.sys.stderr = open(os.devnull, "w") # an identity jumps past what was issued without the prefix
print(*map(len, [second()]))
`)
				wantLines(t, runForked(t, s, program), []string{strings.TrimSpace(strings.Repeat("HILO_MIXED ", 3)), "1"})
			})
		})
	}
}
