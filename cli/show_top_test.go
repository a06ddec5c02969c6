package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestTopPrintsSnapshots(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.Must(t, "prefix", "set", "North/", "--tag", "A", "--redis", s.URL())
		clitest.Must(t, "next", "orders", "--redis", s.URL())
		s.Client(t).HSet(t.Context(), "{Raven}/HiLo/bad", "Max", "abc")
		got := clitest.Must(t, "top", "--count", "2", "--interval", "100ms", "--redis", s.URL())
		for _, want := range []string{"namespace Raven\n", "SERVER ", "North/…-A", "1 corrupt,", "COLLECTION  MAX", "orders        1 "} {
			if strings.Count(got, want) != 2 {
				t.Errorf("%q is not there twice in\n%s", want, got)
			}
		}
		if s.Real() && (!strings.Contains(got, "primary") || !strings.Contains(got, strings.ReplaceAll(s.Name(), "-", " "))) {
			t.Errorf("role and version are not in\n%s", got)
		}
		for line := range strings.Lines(got) {
			if strings.Contains(line, "\x1b") || len([]rune(line)) > 81 {
				t.Errorf("%q", line)
			}
		}
	})
}

func TestTopShowsTheHomeOfIdentities(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		for _, home := range []bool{false, true} {
			clitest.Must(t, "prefix", "set", "North/", fmt.Sprintf("--identities=%t", home), "--redis", s.URL())
			if home {
				s.Client(t).HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "Durable", "always")
			}
			args := []string{"top", "--count", "1", "--interval", "100ms", "--redis", s.URL()}
			if got := clitest.Must(t, args...); strings.Contains(got, "North/ (identities) (durable)") != home {
				t.Errorf("home %t: %s", home, got)
			}
			if got := clitest.Decode[topSnapshot](t, clitest.Must(t, append(args, "--output", "json")...)); got.Servers[0].Identities != home {
				t.Errorf("home %t: %+v", home, got.Servers)
			}
		}
	})
}

func TestTopReportsTheRate(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.Must(t, "seed", "orders", "--max", "2147483600", "--redis", s.URL())
		client := s.Client(t)
		snapshots := 0
		code := clitest.RunTo(t.Context(), new(clitest.Writer(func(p []byte) (int, error) {
			var got topSnapshot
			if err := json.Unmarshal(p, &got); err != nil {
				t.Errorf("%q: %v", p, err)
			}
			snapshots++
			c := got.Collections[0]
			if snapshots == 1 && (c.Rate == nil || *c.Rate != 0 || c.Headroom[0].SecondsLeft != nil) {
				t.Errorf("before: %s", p)
			}
			if snapshots == 2 && (c.Rate == nil || *c.Rate <= 0 || c.Headroom[0].SecondsLeft == nil) {
				t.Errorf("after: %s", p)
			}
			client.HIncrBy(t.Context(), "{Raven}/HiLo/orders", "Max", 10) // as if a range was issued
			client.HIncrBy(t.Context(), "{Raven}/HiLo/orders", "Ranges", 1)
			return len(p), nil
		})), new(clitest.Writer), "top", "--output", "json", "--count", "2", "--interval", "100ms", "--redis", s.URL())
		if code != exit.Done || snapshots != 2 {
			t.Errorf("exit %d after %d snapshots", code, snapshots)
		}
	})
}

func TestTopContinuesWhenAServerIsDown(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		dead := redistest.StartMini(t)
		dead.Kill()
		clitest.Must(t, "next", "orders", "--redis", s.URL())
		got := clitest.Decode[topSnapshot](t, clitest.Must(t, "top", "--output", "json", "--interval", "100ms",
			"--redis", "north="+s.URL(), "--redis", "south="+dead.URL()))
		north, south := got.Servers[0], got.Servers[1]
		if !north.Up || south.Up || !strings.Contains(south.Fault, "no Redis answers at "+dead.Addr()) || len(got.Collections) != 1 {
			t.Errorf("%+v", got)
		}
		if len(got.Events) != 1 || !got.Events[0].Trouble || got.Events[0].Text != "south is down: connection refused" {
			t.Errorf("%+v", got.Events)
		}
		r := clitest.Hilo(t, "top", "--count", "1", "--interval", "100ms", "--redis", dead.URL())
		if r.Code != exit.Unavailable || !strings.Contains(r.Stdout, "down for ") || !strings.HasPrefix(r.Stderr, "hilo: no Redis answers at ") {
			t.Errorf("%+v", r)
		}
	})
}

func TestTopRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, line string
		want       []string
	}{
		{"an invalid interval", "top --interval x", []string{`--interval is "x"`, "a duration such as"}},
		{"an interval that is too short", "top --interval 1ms", []string{"--interval is 1ms", "must be 100ms or more"}},
		{"an unknown sort key", "top --sort size", []string{`--sort is "size"`, "rate, name, max, ranges, epoch or left"}},
		{"a count of 0", "top --count 0", []string{"--count is 0", "1 or more"}},
		{"several servers without names", "top --redis redis://h --redis redis://i", []string{"north=redis://"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			clitest.MustFail(t, exit.Usage, clitest.Hilo(t, strings.Fields(test.line)...), test.want...)
		})
	}
}

func TestTopEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]int{"top": exit.Done, "top --count 9": exit.Failed} {
		ctx, cancel := context.WithCancel(t.Context())
		var stderr strings.Builder
		out := clitest.Writer(func(p []byte) (int, error) { cancel(); return len(p), nil })
		complain := clitest.Writer(stderr.Write)
		code := clitest.RunTo(ctx, &out, &complain, append(strings.Fields(line), "--interval", "100ms", "--redis", "embedded:")...)
		if code != want || want == exit.Done && stderr.Len() > 0 {
			t.Errorf("%s: exit %d, %q", line, code, stderr.String())
		}
		cancel()
	}
}

func TestTopReportsServersAndIdentities(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		clitest.Must(t, "identity", "next", "companies", "--redis", s.URL())
		got := clitest.Decode[topSnapshot](t, clitest.Must(t, "top", "--interval", "100ms", "--output", "json", "--limit", "5000", "--redis", s.URL()))
		server := got.Servers[0]
		if !server.Up || server.State != "up" || server.Since == "" || server.Latency <= 0 ||
			s.Real() && (server.MemoryPolicy != "noeviction" || server.Persistence == "" || server.Role != "primary") {
			t.Errorf("server: %+v", server)
		}
		if len(got.Identities) != 1 || len(got.Collections) != 0 {
			t.Fatalf("%+v", got)
		}
		companies := got.Identities[0]
		if companies.Identity != "companies" || companies.Max != 1 || companies.Headroom[2].Left != 4999 || companies.Low {
			t.Errorf("identity: %+v", companies)
		}
	})
}

// top requests CONFIG only once, since the server logs each refusal.
func TestTopNeedsNoRightToCONFIG(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		if err := s.Client(t).Do(t.Context(), "ACL", "SETUSER", "watcher", "on", ">secret", "~*", "-@all", "+info", "+scan", "+hmget").Err(); err != nil {
			t.Fatal(err)
		}
		url := strings.Replace(s.URL(), "redis://", "redis://watcher:secret@", 1)
		got := clitest.Must(t, "top", "--count", "3", "--interval", "100ms", "--output", "json", "--redis", url)
		var shown topSnapshot
		for decoder := json.NewDecoder(strings.NewReader(got)); decoder.More(); {
			if err := decoder.Decode(&shown); err != nil {
				t.Fatal(err)
			}
		}
		if !shown.Servers[0].Up || shown.Servers[0].MemoryPolicy != "noeviction" {
			t.Errorf("%+v", shown.Servers[0])
		}
		refused, err := s.Client(t).Do(t.Context(), "ACL", "LOG").Slice()
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range refused {
			if text := fmt.Sprint(entry); strings.Contains(text, "config") && !strings.Contains(text, "count 1 ") && !strings.Contains(text, "count:1 ") {
				t.Errorf("refused: %s", text)
			}
		}
	})
}

// A client reads the key of the folded name, whatever the spelling of its Name.
func TestTopLeavesOutKeysThatNoClientReads(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		clitest.Must(t, "seed", "UPPER", "--max", "52", "--redis", s.URL())
		clitest.Must(t, "identity", "seed", "Companies", "--value", "7", "--redis", s.URL())
		client.HSet(t.Context(), "{Raven}/HiLo/UPPER", "Max", 5)
		client.HSet(t.Context(), "{Raven}/Identities/Companies", "Value", 2)
		got := clitest.Decode[topSnapshot](t, clitest.Must(t, "top", "--output", "json", "--interval", "100ms", "--redis", s.URL()))
		if len(got.Collections) != 1 || got.Collections[0].Collection != "UPPER" || got.Collections[0].Max != 52 {
			t.Errorf("got collections %+v, want UPPER at 52", got.Collections)
		}
		if len(got.Identities) != 1 || got.Identities[0].Identity != "Companies" || got.Identities[0].Max != 7 {
			t.Errorf("got identities %+v, want Companies at 7", got.Identities)
		}
	})
}
