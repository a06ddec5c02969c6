package cli

import (
	"context"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/finding"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// runDoctor runs the doctor and checks that its findings are complete.
func runDoctor(t *testing.T, code int, args ...string) diagnosis {
	t.Helper()
	r := clitest.Hilo(t, append([]string{"doctor", "--output", "json"}, args...)...)
	got := clitest.Decode[diagnosis](t, r.Stdout)
	if r.Code != code {
		t.Errorf("exit %d, want %d: %+v", r.Code, code, got)
	}
	for _, f := range got.Findings {
		clitest.CheckComplete(t, f)
	}
	return got
}

// must fails the test without a matching finding. The server is "" for findings about all servers, or one without a name.
func (d diagnosis) must(t *testing.T, check, server string, l finding.Level, what string) {
	t.Helper()
	clitest.WantFinding(t, d.Findings, check, server, l, what)
}

// mustLeaveNothing checks that no key of the doctor's is left on a server.
func mustLeaveNothing(t *testing.T, servers ...*redistest.Server) {
	t.Helper()
	for _, s := range servers {
		if left := s.Client(t).Keys(t.Context(), "*Doctor*").Val(); len(left) > 0 {
			t.Errorf("%s: got the keys %q, want none", s.Name(), left)
		}
	}
}

// startReplica starts a replica and waits until its primary reports it as online.
func startReplica(t *testing.T, primary *redistest.Server) *redistest.Server {
	t.Helper()
	replica := redistest.StartReplica(t, primary)
	awaitReplica(t, primary)
	return replica
}

func awaitReplica(t *testing.T, primary *redistest.Server) {
	t.Helper()
	client := primary.Client(t)
	primary.Await("to have a replica online", func(ctx context.Context) bool {
		return strings.Contains(client.Info(ctx, "replication").Val(), "state=online")
	})
}

func do(t *testing.T, s *redistest.Server, command ...any) {
	t.Helper()
	if err := s.Client(t).Do(t.Context(), command...).Err(); err != nil {
		t.Fatalf("%v: %v", command, err)
	}
}

func TestDoctorOfASoundServer(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		do(t, s, "CONFIG", "SET", "appendonly", "yes")
		clitest.Must(t, "next", "orders", "--redis", s.URL())
		clitest.Must(t, "identity", "next", "companies", "--redis", s.URL())
		got := runDoctor(t, exit.Done, "--redis", s.URL())
		if got.Faults+got.Warnings+got.Unknown > 0 || got.Namespace != "Raven" || got.Servers[0].Address != s.HostPort() {
			t.Errorf("%+v", got)
		}
		for _, check := range []string{"role", "version", "eviction", "persistence", "exactness", "guard", "keys", "prefix"} {
			got.must(t, check, "", finding.OK, "")
		}
		got.must(t, "keys", "", finding.OK, "1 counter and 1 identity")
		mustLeaveNothing(t, s)
		if text := clitest.Must(t, "doctor", "--redis", s.URL()); !strings.Contains(text, "ok       it counts exactly, past 2^53 and up to 2^63-1\n") {
			t.Errorf("%s", text)
		}
	})
}

func TestDoctorFindsAServerThatKeepsNothing(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		do(t, s, "CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
		got := runDoctor(t, exit.Fault, "--redis", s.URL())
		got.must(t, "eviction", "", finding.Fault, "allkeys-lru")
		got.must(t, "persistence", "", finding.Warning, "keeps nothing")
		do(t, s, "CONFIG", "SET", "save", "3600 1")
		runDoctor(t, exit.Fault, "--redis", s.URL()).must(t, "persistence", "", finding.Warning, "save 3600 1")
		do(t, s, "ACL", "SETUSER", "ann", "on", "nopass", "~*", "+@all", "-config")
		got = runDoctor(t, exit.Fault, "--redis", strings.Replace(s.URL(), "redis://", "redis://ann:x@", 1))
		got.must(t, "eviction", "", finding.Fault, "allkeys-lru") // by INFO
		got.must(t, "persistence", "", finding.Warning, "writes no AOF; whether it writes snapshots is unknown")
	})
}

func TestDoctorWithFewRights(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		// The rights of a worker according to the README.
		do(t, s, "ACL", "SETUSER", "worker", "on", ">x", "~{Raven}/*", "-@all", "+evalsha", "+eval", "+hmget", "+hset", "+hdel", "+exists", "+time", "+info", "+hello")
		as := func(user string) string { return strings.Replace(s.URL(), "redis://", "redis://"+user+":x@", 1) }
		got := runDoctor(t, exit.Done, "--redis", as("worker"))
		got.must(t, "exactness", "", finding.OK, "")
		got.must(t, "guard", "", finding.OK, "")
		got.must(t, "keys", "", finding.Unknown, "NOPERM")
		mustLeaveNothing(t, s)

		do(t, s, "ACL", "SETUSER", "worker", "-info")
		got = runDoctor(t, exit.Done, "--redis", as("worker"))
		got.must(t, "role", "", finding.Unknown, "INFO does not report")
		got.must(t, "eviction", "", finding.Unknown, "")
		got.must(t, "persistence", "", finding.Unknown, "")
		got.must(t, "guard", "", finding.Warning, "may not use INFO")

		do(t, s, "ACL", "SETUSER", "worker", "-evalsha")
		runDoctor(t, exit.Fault, "--redis", as("worker")).must(t, "scripts", "", finding.Fault, "NOPERM")
		do(t, s, "ACL", "SETUSER", "worker", "-hmget")
		clitest.MustFail(t, exit.Unavailable, clitest.Hilo(t, "doctor", "--redis", as("worker")), "denies this user a command")

		do(t, s, "ACL", "SETUSER", "worker", "+hmget", "+evalsha", "-hdel") // only the removal needs HDEL
		runDoctor(t, exit.Fault, "--redis", as("worker")).must(t, "scripts", "", finding.Fault, "")
		mustLeaveNothing(t, s)
	})
}

func TestDoctorOfSeveralMasters(t *testing.T) {
	t.Parallel()
	clitest.EachStart(t, func(t *testing.T, start func(...string) *redistest.Server) {
		north, south, flags := clitest.Masters(t, func() *redistest.Server { return start() })
		got := runDoctor(t, exit.Done, flags...)
		got.must(t, "shared", "", finding.OK, "appears on no other")
		got.must(t, "prefix", "north", finding.OK, "prefix NorthServer/")
		mustLeaveNothing(t, north, south)

		clitest.Must(t, "prefix", "set", "NORTHserver/", "--redis", south.URL())
		runDoctor(t, exit.Fault, flags...).must(t, "prefix", "", finding.Fault, "but for letter case")
		south.Kill()
		got = runDoctor(t, exit.Fault, flags...)
		got.must(t, "reach", "south", finding.Fault, "no Redis answers at "+south.HostPort())
		got.must(t, "exactness", "north", finding.OK, "")
		clitest.Must(t, "settings", "clear", "--yes", "--redis", north.URL())
		runDoctor(t, exit.Fault, flags...).must(t, "prefix", "north", finding.Fault, "it has neither prefix nor tag") // although it is the only one that answers
		north.Kill()
		clitest.MustFail(t, exit.Unavailable, clitest.Hilo(t, append([]string{"doctor"}, flags...)...),
			"north: no Redis answers at "+north.HostPort(), "south: no Redis answers at "+south.HostPort())
	})
}

func TestDoctorOfOneServerListedTwice(t *testing.T) {
	t.Parallel()
	clitest.EachStart(t, func(t *testing.T, start func(...string) *redistest.Server) {
		s := start()
		clitest.Must(t, "prefix", "set", "North/", "--redis", s.URL())
		twice := []string{"--redis", "a=" + s.URL(), "--redis", "b=" + s.URL()}
		got := runDoctor(t, exit.Fault, twice...)
		if s.Real() {
			got.must(t, "shared", "", finding.Fault, "a and b are one server (same run_id)")
			got.mustNotBeDistinct(t)
			do(t, s, "ACL", "SETUSER", "default", "-info")
			got = runDoctor(t, exit.Fault, twice...)
		}
		got.must(t, "shared", "", finding.Fault, "what is written to a or b appears on both")
		got.must(t, "prefix", "", finding.Fault, "a and b have the same prefix North/")
		mustLeaveNothing(t, s)
	})
}

// mustNotBeDistinct fails the test if the servers are reported not to share data.
func (d diagnosis) mustNotBeDistinct(t *testing.T) {
	t.Helper()
	for _, f := range d.Findings {
		if f.Check == "shared" && f.Level == finding.OK {
			t.Errorf("%+v", f)
		}
	}
}

func TestDoctorOfAMasterThatReplicatesFromAnother(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, north *redistest.Server) {
		clitest.Must(t, "prefix", "set", "North/", "--redis", north.URL())
		south := startReplica(t, north)
		both := []string{"--redis", "north=" + north.URL(), "--redis", "south=" + south.URL()}
		got := runDoctor(t, exit.Fault, both...)
		got.must(t, "shared", "", finding.Fault, "north and south have the same data (same replication id)")
		got.must(t, "role", "south", finding.Fault, "it is a replica")
		got.mustNotBeDistinct(t)

		do(t, south, "ACL", "SETUSER", "default", "-info") // only the test key shows it
		got = runDoctor(t, exit.Fault, both...)
		got.must(t, "shared", "", finding.Fault, "what is written to north appears on south")
		got.mustNotBeDistinct(t)

		do(t, south, "ACL", "SETUSER", "default", "+info")
		do(t, south, "REPLICAOF", "NO", "ONE")
		got = runDoctor(t, exit.Fault, both...)
		got.must(t, "shared", "", finding.OK, "appears on no other")
		got.must(t, "prefix", "", finding.Fault, "north and south have the same prefix North/")
		mustLeaveNothing(t, north, south)
	})
}

func TestDoctorOfAClusterExaminesEachPrimary(t *testing.T) {
	t.Parallel()
	for _, b := range redistest.Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			c := redistest.StartCluster(t, b, 3, 1)
			for i, node := range c.Nodes {
				if i < 3 {
					awaitReplica(t, node)
				}
				do(t, node, "CONFIG", "SET", "appendonly", "yes")
			}
			do(t, c.Nodes[1], "CONFIG", "SET", "maxmemory-policy", "allkeys-lfu")
			url := "redis+cluster://" + strings.Join(c.Addrs(), ",")
			clitest.Must(t, "next", "orders", "--redis", url)
			got := runDoctor(t, exit.Fault, "--redis", "east="+url)
			for i, node := range c.Nodes[:3] {
				name := "east " + node.HostPort()
				got.must(t, "replicas", name, finding.Note, "it has 1 replica: ")
				got.must(t, "replica-priority", name, finding.OK, "")
				if i != 1 {
					got.must(t, "eviction", name, finding.OK, "")
				}
			}
			got.must(t, "eviction", "east "+c.Nodes[1].HostPort(), finding.Fault, "allkeys-lfu")
			got.must(t, "keys", "east", finding.OK, "1 counter")
			if got.Faults != 1 {
				t.Errorf("%+v", got)
			}
			const cannot = "a *redis.Client cannot scan a cluster: use a *redis.ClusterClient (redis+cluster://HOST)"
			owner := c.Nodes[int(c.Slot("{Raven}"))*3/16384].URL()
			runDoctor(t, exit.Done, "--redis", owner).must(t, "keys", "", finding.Unknown, cannot)
			clitest.MustFail(t, exit.Usage, clitest.Hilo(t, "list", "--redis", owner), cannot)
		})
	}
}

func TestDoctorLeavesNoKeyWhenInterrupted(t *testing.T) {
	t.Parallel()
	s := redistest.StartMini(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.Hook(func(command string, _ []string) string {
		if command == "PEXPIRE" { // follows the first write
			cancel()
		}
		return ""
	})
	var stdout, stderr strings.Builder
	code := clitest.Run(ctx, []string{"hilo", "doctor", "--redis", s.URL()}, base.Env{Stdout: &stdout, Stderr: &stderr})
	if code != exit.Failed || stderr.String() != "hilo: interrupted\n" || stdout.Len() > 0 {
		t.Errorf("exit %d, stdout %q, stderr %q", code, stdout.String(), stderr.String())
	}
	s.Hook(nil)
	mustLeaveNothing(t, s)
}
