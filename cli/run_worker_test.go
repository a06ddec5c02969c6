package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestWorkerTakesAndReturns(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		r := clitest.Decode[workerReport](t, mustWork(t, "worker", "orders", "users", "--rate", "max", "--count", "1001", "--goroutines", "3",
			"--redis", s.URL(), "--output", "json"))
		if r.IDs != 1001 || r.Stopped != "count" {
			t.Errorf("%+v", r)
		}
		if len(r.Collections) != 2 || r.Total.Issued != 1001 || r.Total.Reserved != r.Total.Issued+r.Total.Returned+r.Total.Burnt ||
			r.NotReturned != r.Total.Held-r.Total.Returned {
			t.Errorf("%+v", r.Collections)
		}
		if len(r.Prefixes) != 1 || r.Prefixes[0] != (workerPrefix{IDs: 1001}) {
			t.Errorf("%+v", r.Prefixes)
		}
		for _, c := range r.Collections {
			if top := s.Client(t).HGet(t.Context(), "{Raven}/HiLo/"+c.Collection, "Max").Val(); top != fmt.Sprint(c.Issued) {
				t.Errorf("%s: Max is %s after %d, the rest was not returned", c.Collection, top, c.Issued)
			}
		}
	})
}

func TestWorkerFetchesARangeOfEachCollectionFirst(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		if err := s.Client(t).HSet(t.Context(), "{Raven}/HiLo/corrupt", "Max", "x").Err(); err != nil {
			t.Fatal(err)
		}
		r := clitest.Decode[workerReport](t, clitest.Hilo(t, "worker", "orders", "users", "corrupt", "people", "--count", "1", "--goroutines", "1",
			"--redis", s.URL(), "--output", "json").Stdout)
		for _, c := range r.Collections {
			if c.Collection != "corrupt" && c.Ranges != 1 {
				t.Errorf("%+v", c)
			}
		}
		if r.IDs != 1 || r.NotReturned != 0 {
			t.Errorf("%+v", r)
		}
	})
}

func TestWorkerStartsBeforeItsServers(t *testing.T) {
	t.Parallel()
	clitest.EachStart(t, func(t *testing.T, start func(...string) *redistest.Server) {
		s := start("--appendonly", "yes")
		s.Kill()
		w := startWorker(t, nil, "orders", "--rate", "max", "--count", "100", "--timeout", "1s", "--log-level", "info",
			"--redis", s.URL(), "--output", "json")
		w.stderr.Await(t, "no ids available, retrying")
		s.Restart()
		s.Initialize("Raven")
		w.stderr.Await(t, "ids available again")
		r := w.wait()
		found := clitest.Decode[workerReport](t, r.Stdout)
		if r.Code != exit.Done || found.IDs != 100 || found.Errors == 0 {
			t.Errorf("exit %d, %+v", r.Code, found)
		}
	})
}

// A master without settings is out of use, and the other serves as soon as it has some.
func TestWorkerOfTwoMastersWaitsForAPrefix(t *testing.T) {
	t.Parallel()
	clitest.EachStart(t, func(t *testing.T, start func(...string) *redistest.Server) {
		north, south := start(), start()
		environment := map[string]string{
			"HILO_REDIS_URL":           "north=" + north.URL() + " south=" + south.URL(),
			"HILO_PREFER":              "south",
			"HILO_OUTPUT":              "json",
			"HILO_WORKER_COLLECTIONS":  "orders users",
			"HILO_WORKER_RATE":         "max",
			"HILO_WORKER_COUNT":        "50",
			"HILO_WORKER_GOROUTINES":   "2",
			"HILO_WORKER_DURATION":     "10m",
			"HILO_WORKER_METRICS_ADDR": "127.0.0.1:0",
		}
		w := startWorker(t, environment)
		w.stderr.Await(t, "server prefix missing")
		clitest.Must(t, "settings", "set", "SouthServer/", "--tag", "B", "--redis", south.URL())
		r := w.wait()
		found := clitest.Decode[workerReport](t, r.Stdout)
		if r.Code != exit.Done || found.IDs != 50 || len(found.Prefixes) != 1 || found.Prefixes[0] != (workerPrefix{"SouthServer/", "B", 50}) {
			t.Errorf("exit %d, %+v", r.Code, found)
		}
	})
}

func TestWorkerContinuesAtTheOtherMaster(t *testing.T) {
	t.Parallel()
	clitest.EachStart(t, func(t *testing.T, start func(...string) *redistest.Server) {
		north, south, flags := clitest.Masters(t, func() *redistest.Server { return start() })
		args := append([]string{"orders", "--rate", "2000", "--metrics-addr", "127.0.0.1:0", "--output", "json"}, flags...)
		w := startWorker(t, nil, args...)
		w.awaitIssued(t, "orders", 0)
		north.Kill()
		client := south.Client(t)
		clitest.AwaitTrue(t, "a range of south", func() bool { return client.Exists(t.Context(), "{Raven}/HiLo/orders").Val() == 1 })
		w.awaitIssued(t, "orders", w.counted(t, "hilo_ids_reserved_total", "orders")) // so that the rest is of south
		w.cancel()
		r := w.wait()
		found := clitest.Decode[workerReport](t, r.Stdout)
		if r.Code != exit.Done || found.Stopped != "signal" || len(found.Prefixes) != 2 {
			t.Fatalf("exit %d, %+v", r.Code, found)
		}
		if top := client.HGet(t.Context(), "{Raven}/HiLo/orders", "Max").Val(); top != fmt.Sprint(found.Prefixes[1].IDs) {
			t.Errorf("south: Max is %s after %d", top, found.Prefixes[1].IDs)
		}
	})
}

func TestWorkerReportsWhatItCouldNotReturn(t *testing.T) {
	t.Parallel()
	clitest.EachStart(t, func(t *testing.T, start func(...string) *redistest.Server) {
		s := start()
		w := startWorker(t, nil, "orders", "--rate", "10", "--goroutines", "1", "--timeout", "1s", "--metrics-addr", "127.0.0.1:0",
			"--redis", s.URL(), "--output", "json")
		w.awaitIssued(t, "orders", 0)
		s.Kill()
		w.cancel()
		r := w.wait()
		found := clitest.Decode[workerReport](t, r.Stdout)
		if r.Code != exit.Done || found.Total.Returned != 0 || found.NotReturned == 0 || found.NotReturned != found.Total.Burnt {
			t.Errorf("exit %d, %+v", r.Code, found)
		}
		if !strings.Contains(r.Stderr, "could not be returned, and are a gap now") {
			t.Errorf("%q", r.Stderr)
		}
	})
}

func TestWorkerServesOthersWhileACollectionIsRefused(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		set := func(max string) {
			if err := client.HSet(t.Context(), "{Raven}/HiLo/users", "Max", max).Err(); err != nil {
				t.Fatal(err)
			}
		}
		set("x")
		w := startWorker(t, nil, "users", "orders", "--rate", "5000", "--goroutines", "1", "--log-level", "info",
			"--metrics-addr", "127.0.0.1:0", "--redis", s.URL(), "--output", "json")
		w.awaitIssued(t, "orders", 2000) // takes minutes if each refusal delays orders
		set("7")
		w.awaitIssued(t, "users", 0)
		w.cancel()
		r := w.wait()
		found := clitest.Decode[workerReport](t, r.Stdout)
		if r.Code != exit.Done || found.Errors == 0 {
			t.Errorf("exit %d, %+v", r.Code, found)
		}
		for _, line := range []string{"no ids available, retrying", "ids available again"} {
			if n := strings.Count(r.Stderr, line+` {"collection": "users"`); n != 1 || strings.Count(r.Stderr, line) != 1 {
				t.Errorf("got %q %d times for users, want once: %q", line, n, r.Stderr)
			}
		}
	})
}

func TestWorkerEndsWhenRetryingIsUseless(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.Must(t, "seed", "orders", "--max", "9223372036854775800", "--redis", s.URL())
		r := clitest.Hilo(t, "worker", "orders", "--rate", "max", "--redis", s.URL(), "--output", "json")
		if found := clitest.Decode[workerReport](t, r.Stdout); found.Stopped != "failed" || found.IDs != 7 {
			t.Errorf("%+v", found)
		}
		if r.Code != exit.Refused || !strings.Contains(r.Stderr, "hilo: after 7 ids: ") || !strings.Contains(r.Stderr, "exhausted") {
			t.Errorf("exit %d, %q", r.Code, r.Stderr)
		}
		clitest.Must(t, "identity", "next", "companies", "--redis", s.URL())
		if r := clitest.Hilo(t, "worker", "companies", "--redis", s.URL()); r.Code != exit.Refused || !strings.Contains(r.Stderr, "mixed") {
			t.Errorf("%+v", r)
		}
	})
}

func TestWorkerKeepsItsRateAndDuration(t *testing.T) {
	t.Parallel()
	r := clitest.Decode[workerReport](t, mustWork(t, "worker", "orders", "--rate", "2000", "--duration", "1s", "--redis", "embedded:", "--output", "json"))
	// On a busy machine it may be late, and issue few in a second. It may take the identifiers of a tenth of one, and a batch, at once.
	if r.Stopped != "duration" || r.IDs > 2300 || r.IDs < 1 || r.Seconds < 0.99 {
		t.Errorf("%+v", r)
	}
	r = clitest.Decode[workerReport](t, mustWork(t, "worker", "orders", "--rate", "2000", "--count", "2000", "--redis", "embedded:", "--output", "json"))
	if r.Stopped != "count" || r.IDs != 2000 || r.Seconds < 0.88 {
		t.Errorf("2000 at 2000/s: %+v", r)
	}
}

func TestWorkerOnATerminal(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args string
		want []string
	}{
		{"--rate 1000 --duration 500ms", []string{" takes ids of orders at 1,000 ids/s", "%", " ids/s", "s left"}},
		{"--rate 2000 --count 1200", []string{" takes ids of orders at 2,000 ids/s", "%", " of 1,200 ids"}},
	} {
		t.Run(test.args, func(t *testing.T) {
			t.Parallel()
			terminal := &clitest.Terminal{Width: 80}
			args := append([]string{"hilo", "worker", "orders", "--redis", "embedded:"}, strings.Fields(test.args)...)
			if code := clitest.Run(t.Context(), args, base.Env{Stdout: terminal, Stderr: terminal}); code != exit.Done {
				t.Errorf("exit %d", code)
			}
			for _, want := range test.want {
				if !strings.Contains(terminal.String(), want) {
					t.Errorf("%q is not in %q", want, terminal)
				}
			}
		})
	}
}

func TestWorkerRefusesABadCommandLine(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		args string
		want string
	}{
		{"no collection", "", "hilo worker needs a COLLECTION"},
		{"a bad collection", "orders a/b", "name one such as orders"},
		{"a collection twice", "orders users orders", `collection "orders" is named twice`},
		{"a rate of words", "orders --rate fast", `--rate is "fast": must be a whole number, 0 or more`},
		{"a rate below 0", "orders --rate=-1", "--rate is -1: must be 0 or more"},
		{"a rate too high", "orders --rate 1000000001", "--rate is 1000000001: must be at most 1000000000"},
		{"no goroutines", "orders --goroutines 0", "--goroutines is 0: must be 1 or more"},
		{"no end", "orders --count 0", "--count is 0: must be 1 or more"},
		{"a time without unit", "orders --duration 5", `--duration is "5": must be a duration`},
		{"an address without port", "orders --metrics-addr localhost", `--metrics-addr is "localhost": must be HOST:PORT`},
		{"an invalid port", "orders --metrics-addr :99999", `--metrics-addr is ":99999": the port must be a number from 0 to 65535`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			clitest.MustFail(t, exit.Usage, clitest.Hilo(t, append([]string{"worker"}, strings.Fields(test.args)...)...), test.want)
		})
	}
	for _, flag := range []string{"RATE", "GOROUTINES", "COUNT", "DURATION", "METRICS_ADDR", "COLLECTIONS"} {
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			args := []string{"worker"}
			if flag != "COLLECTIONS" {
				args = append(args, "orders")
			}
			clitest.MustFail(t, exit.Usage, clitest.HiloWith(t, map[string]string{"HILO_WORKER_" + flag: "{x"}, args...), "HILO_WORKER_"+flag)
		})
	}
}

func TestWorkerShowsNoPassword(t *testing.T) {
	t.Parallel()
	s, dead := redistest.StartMini(t), redistest.StartMini(t)
	s.RequireLogin("ann", clitest.Password)
	dead.Kill()
	const login = "redis://ann:S3cr3t%2Fof%40Ann@"
	for _, url := range []string{login + s.Addr(), login + dead.Addr(), "redis://ann:" + clitest.Password + "@h"} {
		args := []string{"orders", "--rate", "max", "--count", "10", "--duration", "200ms", "--timeout", "100ms", "--log-level", "debug"}
		clitest.CheckNoPassword(t, fmt.Sprint(args), clitest.Hilo(t, append([]string{"worker", "--redis", url}, args...)...))
	}
}

// mustWork runs a worker, checks that stderr has only the line of its start, and returns stdout.
func mustWork(t *testing.T, args ...string) string {
	t.Helper()
	r := clitest.Hilo(t, args...)
	if r.Code != exit.Done || strings.Count(r.Stderr, "\n") != 1 || !strings.Contains(r.Stderr, " takes ids of ") {
		t.Fatalf("hilo %q: exit %d, stderr %q", args, r.Code, r.Stderr)
	}
	return r.Stdout
}
