package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/term"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestVerifyProvesThatNoIDIsIssuedTwice(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"processes", "goroutines"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				args := []string{"verify", "--ids", "100003", "--workers", "4", "--collections", "3", "--output", "json", "--redis", s.URL()}
				if kind == "goroutines" {
					args = append(args, "--goroutines")
				}
				r := clitest.Hilo(t, args...)
				got := clitest.Decode[verifyReport](t, r.Stdout)
				if r.Code != exit.Done || !got.Proven || got.Interrupted || got.Processes != (kind == "processes") {
					t.Errorf("exit %d, %+v, stderr %q", r.Code, got, r.Stderr)
				}
				checkProof(t, got)
				if got.IDs != 100_003 || got.Duplicates != 0 || len(got.Repeated) > 0 || got.Workers != 4 || len(got.Collections) != 3 {
					t.Errorf("%+v", got)
				}
				if got.Unused != got.Burnt || got.Jumps != 0 || got.Failures != 0 {
					t.Errorf("got %+v, want no missing numbers except those that a worker held", got)
				}
				if !strings.HasPrefix(got.Namespace, "Raven-verify-") || !strings.Contains(r.Stderr, got.Namespace) {
					t.Errorf("namespace %q, stderr %q", got.Namespace, r.Stderr)
				}
				clitest.CheckEmpty(t, s)
			})
		})
	}
}

// checkProof checks that the figures are consistent.
func checkProof(t *testing.T, p verifyReport) {
	t.Helper()
	var issued, again int64
	for _, c := range p.Collections {
		issued += c.IDs
		again += c.Duplicates
		if c.Missing != c.Greatest-(c.IDs-c.Duplicates) || c.Gaps > c.Missing || c.IDs < 1 {
			t.Errorf("%+v", c)
		}
	}
	var surplus int64
	for _, r := range p.Repeated {
		surplus += r.IDs * int64(r.Times-1)
		if len(r.Workers) != r.Times || r.Times < 2 {
			t.Errorf("%+v", r)
		}
	}
	if issued != p.IDs || again != p.Duplicates || surplus != p.Duplicates || p.Seconds <= 0 {
		t.Errorf("%d ids and %d duplicates by collection, %d duplicates in repeated: %+v", issued, again, surplus, p)
	}
}

func TestVerifyKillsItsWorkers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		got := clitest.Decode[verifyReport](t, clitest.Hilo(t, "verify", "--kill-workers", "--ids", "6000", "--rate", "4000", "--output", "json", "--redis", s.URL()).Stdout)
		if !got.Proven || got.IDs != 6000 || got.Killed == 0 || got.Lost != 0 {
			t.Errorf("%+v", got)
		}
		checkProof(t, got)
		clitest.CheckEmpty(t, s)
	})
}

// Max is lowered by hand again and again, until a worker starts that has seen none of the numbers. That is no loss, so nothing
// detects it.
func TestVerifyFindsDuplicates(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		v := startVerify(t, "--kill-workers", "--duration", "1h", "--rate", "20000", "--workers", "3", "--redis", s.URL())
		client := s.Client(t)
		ticker := time.NewTicker(2 * time.Millisecond) // so that it does not take the processor from the workers
		defer ticker.Stop()
		for ; !v.printed("DUPLICATES: ") && !v.over(); <-ticker.C {
			for _, key := range client.Keys(t.Context(), "*/HiLo/orders").Val() {
				client.HSet(t.Context(), key, "Max", 0)
			}
		}
		r := v.interrupt()
		got := clitest.Decode[verifyReport](t, r.Stdout)
		if r.Code != exit.Fault || got.Duplicates == 0 || got.Proven || len(got.Repeated) == 0 {
			t.Errorf("exit %d, %+v, stderr %s", r.Code, got, r.Stderr)
		}
		if !strings.Contains(r.Stderr, " among "+term.Plural(got.IDs, "id")) {
			t.Errorf("stderr %s", r.Stderr)
		}
		checkProof(t, got)
		clitest.CheckEmpty(t, s)
	})
}

// A worker that has seen the counter continues it above all that was issued, and none that has not begins at 1.
func TestVerifyFindsNoDuplicateAfterTheLossOfAllData(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		v := startVerify(t, "--kill-workers", "--duration", "1h", "--rate", "20000", "--workers", "3", "--redis", s.URL())
		v.await(idsCame)
		for range 3 {
			s.Client(t).FlushAll(t.Context())
			v.await("lost its data; its settings are made again")
		}
		r := v.interrupt()
		got := clitest.Decode[verifyReport](t, r.Stdout)
		if got.Duplicates != 0 || got.IDs == 0 || !got.Interrupted {
			t.Errorf("exit %d, %+v, stderr %s", r.Code, got, r.Stderr)
		}
		checkProof(t, got)
		clitest.CheckEmpty(t, s)
	})
}

func TestVerifyReportsMastersThatGoDownAndComeBack(t *testing.T) {
	t.Parallel()
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			durable := []string{"--appendonly", "yes", "--appendfsync", "always"}
			north, south := redistest.Start(t, b, durable...), redistest.Start(t, b, durable...)
			clitest.Must(t, "prefix", "set", "NorthServer/", "--tag", "A", "--redis", north.URL())
			v := startVerify(t, "--kill-workers", "--duration", "1h", "--rate", "100000", "--collections", "20", "--timeout", "1s",
				"--redis", "north="+north.URL()+quietly, "--redis", "south="+south.URL()+quietly)
			v.await("south has no prefix; in this namespace its prefix is verify-south/")
			v.await(idsCame)
			for _, s := range []struct {
				name string
				*redistest.Server
			}{{"north", north}, {"south", south}, {"north", north}} {
				s.Kill()
				v.await(s.name + " is down: ")
				s.Restart()
				v.await(s.name + " is back after ")
			}
			r := v.interrupt()
			got := clitest.Decode[verifyReport](t, r.Stdout)
			if r.Code != exit.Failed || !strings.HasSuffix(r.Stderr, "hilo: interrupted after "+term.Plural(got.IDs, "id")+"\n") {
				t.Errorf("exit %d, stderr %s", r.Code, r.Stderr)
			}
			if got.Duplicates != 0 || !got.Interrupted || got.Proven {
				t.Errorf("%+v", got)
			}
			restarts := 0
			for _, o := range got.Outages { // a busy machine may add some
				if o.Changed {
					restarts++
				}
				if o.To == "" || o.Seconds < 0 || o.Reason == "" {
					t.Errorf("%+v", o)
				}
			}
			if restarts != 3 {
				t.Errorf("%d restarts, want 3: %+v", restarts, got.Outages)
			}
			checkProof(t, got)
			seen := make(map[string]bool)
			identities := int64(0)
			for _, c := range got.Collections {
				if c.Collection == "identity" {
					identities = c.IDs
					continue
				}
				seen[c.Prefix+"1"+c.Tag] = true
			}
			if identities == 0 {
				t.Error("no identity was taken")
			}
			if !seen["NorthServer/1A"] || len(seen) > 2 || len(seen) == 2 && !seen["verify-south/1"] {
				t.Errorf("prefixes %v", seen)
			}
			if keys := north.Client(t).Keys(t.Context(), "*").Val(); len(keys) != 1 {
				t.Errorf("%q are left, want the user's prefix alone", keys)
			}
			clitest.CheckEmpty(t, south)
		})
	}
}

func TestVerifyFindsNoDuplicateAfterAFailover(t *testing.T) {
	t.Parallel()
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			primary := redistest.Start(t, b)
			replicas := []*redistest.Server{redistest.StartReplica(t, primary), redistest.StartReplica(t, primary)}
			sentinels := redistest.StartSentinels(t, primary, 3, len(replicas))
			v := startVerify(t, "--duration", "1h", "--rate", "50000", "--timeout", "2s",
				"--redis", "redis+sentinel://"+strings.Join(sentinels.Addrs(), ",")+"/"+redistest.MasterName+"/0"+quietly)
			v.await(idsCame)
			primary.Kill()
			v.await(" is down: ")
			v.await(": restarted or promoted")
			r := v.interrupt()
			got := clitest.Decode[verifyReport](t, r.Stdout)
			if got.Duplicates != 0 || got.IDs == 0 || len(got.Outages) == 0 || !got.Outages[0].Changed || got.Servers[0].Left > 0 {
				t.Errorf("%+v, stderr %s", got, r.Stderr)
			}
			checkProof(t, got)
		})
	}
}

func TestVerifyOfACluster(t *testing.T) {
	t.Parallel()
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			cluster := redistest.StartCluster(t, b, 3, 1)
			r := clitest.Hilo(t, "verify", "--ids", "20000", "--collections", "2", "--timeout", "20s", "--output", "json",
				"--redis", "redis+cluster://"+strings.Join(cluster.Addrs(), ","))
			if got := clitest.Decode[verifyReport](t, r.Stdout); !got.Proven || got.IDs != 20_000 || got.Failures > 0 {
				t.Errorf("%+v, stderr %s", got, r.Stderr)
			}
			for _, primary := range cluster.Nodes[:3] {
				clitest.CheckEmpty(t, primary)
			}
		})
	}
}

// What the user's namespace states of the server has to be true for the trial too.
func TestVerifyTriesWhatTheServerDeclares(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		s.Client(t).HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "Durable", "everysec")
		clitest.MustFail(t, exit.Refused, clitest.Hilo(t, "verify", "--redis", s.URL()), "CONFIG SET appendonly yes")
		do(t, s, "CONFIG", "SET", "appendonly", "yes")
		awaitAOF(t, s)
		got := clitest.Decode[verifyReport](t, clitest.Hilo(t, "verify", "--ids", "2000", "--workers", "2", "--output", "json", "--redis", s.URL()).Stdout)
		if !got.Proven || got.IDs != 2000 || got.Jumps != 0 {
			t.Errorf("got %+v, want 2000 ids of a durable server", got)
		}
		clitest.CheckEmpty(t, s)
	})
}

// The restart without persistence loses the counters too. The only worker has seen them by then.
func TestVerifyRestoresLostSettings(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, north *redistest.Server) {
		south := redistest.StartMini(t)
		v := startVerify(t, "--workers", "1", "--duration", "1h", "--rate", "50000",
			"--redis", "north="+north.URL()+quietly, "--redis", "south="+south.URL())
		v.await(idsCame)
		north.Kill()
		v.await("north is down: ")
		north.Restart()
		v.await("north lost its data; its settings are made again")
		r := v.interrupt()
		got := clitest.Decode[verifyReport](t, r.Stdout)
		if r.Code != exit.Failed || got.Duplicates != 0 || !got.Interrupted {
			t.Errorf("exit %d, %+v, stderr %s", r.Code, got, r.Stderr)
		}
		checkProof(t, got)
		clitest.CheckEmpty(t, north)
		clitest.CheckEmpty(t, south)
	})
}

func TestVerifyNamesKeysThatItCannotRemove(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		v := startVerify(t, "--duration", "1h", "--rate", "10000", "--timeout", "5s", "--give-up", "5s", "--redis", s.URL()+quietly)
		v.await(idsCame)
		s.Kill()
		v.await(" is down: ")
		r := v.result()
		if r.Code != exit.Unavailable {
			t.Errorf("exit %d", r.Code)
		}
		for _, want := range []string{"no worker got an identifier for 5s (--give-up); no Redis answers at ", "}/HiLo/orders'", "remove them with redis-cli DEL '{Raven-verify-"} {
			if !strings.Contains(r.Stderr, want) {
				t.Errorf("%q is not in %s", want, r.Stderr)
			}
		}
		got := clitest.Decode[verifyReport](t, r.Stdout)
		if got.Servers[0].Left != 2 || len(got.Outages) == 0 || got.Outages[len(got.Outages)-1].To != "" {
			t.Errorf("%+v", got)
		}
	})
}

func TestVerifyWritesNothingUnlessAllServersAnswer(t *testing.T) {
	t.Parallel()
	up, down := redistest.StartMini(t), redistest.StartMini(t)
	down.Kill()
	clitest.MustFail(t, exit.Unavailable, clitest.Hilo(t, "verify", "--redis", down.URL()+quietly), "no Redis answers at ")
	clitest.MustFail(t, exit.Unavailable, clitest.Hilo(t, "verify", "--redis", "a="+up.URL(), "--redis", "b="+down.URL()+quietly), "no Redis answers at ")
	clitest.CheckEmpty(t, up)
}

func TestVerifyOfTheEmbeddedServer(t *testing.T) {
	t.Parallel()
	got := clitest.Decode[verifyReport](t, clitest.Hilo(t, "verify", "--ids", "20000", "--output", "json", "--redis", "a=embedded:", "--redis", "b=embedded:").Stdout)
	if !got.Proven || got.IDs != 20_000 || len(got.Servers) != 2 || !got.Servers[0].Temporary {
		t.Errorf("%+v", got)
	}
}

func TestVerifyPrintsText(t *testing.T) {
	t.Parallel()
	r := clitest.Hilo(t, "verify", "--ids", "1000", "--redis", "embedded:")
	for _, want := range []string{
		"\nVerified: 1000 ids, no duplicates.\n", "duplicates:  0", "8 processes", ", removed", "SERIES",
	} {
		if !strings.Contains(r.Stdout, want) {
			t.Errorf("%q is not in %s", want, r.Stdout)
		}
	}
}

func TestVerifyRefusesABadCommandLine(t *testing.T) {
	t.Parallel()
	tests := []struct{ args, want string }{
		{"--ids 0", "--ids is 0: must be 1 or more"},
		{"--ids 1000000001", "--ids is 1000000001: must be at most 1000000000"},
		{"--workers 1001", "--workers is 1001: must be at most 1000"},
		{"--collections x", `--collections is "x"`},
		{"--duration 0s", "--duration is 0s: must be more than 0"},
		{"--give-up soon", `--give-up is "soon"`},
		{"--rate -1", "--rate is -1"},
		{"--processes", "has no flag --processes"},
		{"--goroutines --kill-workers", "goroutines cannot be killed"},
		{"orders", "takes no arguments"},
		{"--as-worker", "is for processes that hilo verify starts"},
	}
	for _, test := range tests {
		t.Run(test.args, func(t *testing.T) {
			t.Parallel()
			clitest.MustFail(t, exit.Usage, clitest.Hilo(t, append([]string{"verify", "--redis", "embedded:"}, strings.Fields(test.args)...)...), test.want)
		})
	}
}
