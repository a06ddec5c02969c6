package redistest

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestEachReachesMiniredisAndEveryRealServer(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var reached []string
	t.Run("each", func(t *testing.T) {
		t.Parallel()
		Each(t, func(t *testing.T, s *Server) {
			client := s.Client(t)
			if n, err := client.Incr(t.Context(), "n").Result(); n != 1 || err != nil {
				t.Errorf("the first INCR gave %d, %v, want 1: the server is not empty", n, err)
			}
			mu.Lock()
			defer mu.Unlock()
			reached = append(reached, s.Name())
		})
	})
	t.Cleanup(func() {
		want := []string{"miniredis"}
		for _, b := range Binaries(t) {
			want = append(want, b.Name)
		}
		slices.Sort(want)
		slices.Sort(reached)
		if !slices.Equal(reached, want) {
			t.Errorf("reached %v, want %v", reached, want)
		}
	})
}

func TestRealServerIsOfTheVersionItIsNamedFor(t *testing.T) {
	t.Parallel()
	EachReal(t, func(t *testing.T, s *Server) {
		if !s.Real() || s.Mini() != nil {
			t.Errorf("Real() is %v and Mini() is %v", s.Real(), s.Mini())
		}
		info, err := s.Client(t).Info(t.Context(), "server").Result()
		if err != nil {
			t.Fatal(err)
		}
		kind, version, _ := strings.Cut(s.Name(), "-")
		if !strings.Contains(info, kind+"_version:"+version+"\r\n") {
			t.Errorf("%s says of itself:\n%s", s.Name(), info)
		}
	})
}

func TestInitializeMakesTheSettingsOfANamespace(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, s *Server) {
		client := s.Client(t)
		s.Initialize("Shop")
		for _, namespace := range []string{"Raven", "Shop"} { // the first one from the start
			if at := client.HGet(t.Context(), "{"+namespace+"}/ServerPrefixForHilo", "Initialized").Val(); at == "" {
				t.Errorf("%s: got no settings, want some", namespace)
			}
		}
	})
}

func TestURLIsTheSameServer(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, s *Server) {
		if err := s.Client(t).Set(t.Context(), "greeting", "hello", 0).Err(); err != nil {
			t.Fatal(err)
		}
		opts, err := redis.ParseURL(s.URL())
		if err != nil {
			t.Fatal(err)
		}
		client := redis.NewClient(opts)
		t.Cleanup(func() { _ = client.Close() })
		if got, err := client.Get(t.Context(), "greeting").Result(); got != "hello" || err != nil {
			t.Errorf("GET by URL gave %q, %v", got, err)
		}
	})
}

func TestArgumentsOverrideTheDefaults(t *testing.T) {
	t.Parallel()
	for _, b := range Binaries(t) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			s := Start(t, b, "--requirepass", "secret", "--appendonly", "yes")
			opts := Options(s)
			opts.Password = "secret"
			client := redis.NewClient(opts)
			t.Cleanup(func() { _ = client.Close() })
			if err := client.Set(t.Context(), "kept", "yes", 0).Err(); err != nil {
				t.Fatal(err)
			}
			s.Restart()
			if got, err := client.Get(t.Context(), "kept").Result(); got != "yes" || err != nil {
				t.Errorf("GET after the restart of a server with an append-only file gave %q, %v", got, err)
			}
			if err := s.Client(t).Ping(t.Context()).Err(); err == nil || !strings.HasPrefix(err.Error(), "NOAUTH") {
				t.Errorf("PING without the password gave %v, want NOAUTH", err)
			}
		})
	}
}

func TestRestartedServerIsEmptyAndHasAnotherReplicationID(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, s *Server) {
		ctx := t.Context()
		client := s.Client(t)
		before := replicationID(ctx, t, client)
		if err := client.Set(ctx, "lost", "yes", 0).Err(); err != nil {
			t.Fatal(err)
		}
		sha, err := client.ScriptLoad(ctx, "return 1").Result()
		if err != nil {
			t.Fatal(err)
		}
		addr, url := s.Addr(), s.URL()

		s.Kill()
		s.Kill()
		if err := client.Ping(ctx).Err(); err == nil {
			t.Error("a killed server answers")
		}

		s.Restart()
		if s.Addr() != addr || s.URL() != url {
			t.Errorf("restarted at %s and %s, was at %s and %s", s.Addr(), s.URL(), addr, url)
		}
		if n, err := client.DBSize(ctx).Result(); n != 0 || err != nil {
			t.Errorf("DBSIZE after the restart gave %d, %v, want 0", n, err)
		}
		if err := client.EvalSha(ctx, sha, nil).Err(); !redis.HasErrorPrefix(err, "NOSCRIPT") {
			t.Errorf("EVALSHA after the restart gave %v, want NOSCRIPT", err)
		}
		if after := replicationID(ctx, t, client); after == before {
			t.Errorf("the replication id is %s as before", after)
		}
	})
}

func TestPausedServerAnswersWhenResumed(t *testing.T) {
	t.Parallel()
	EachReal(t, func(t *testing.T, s *Server) {
		client := s.Client(t)
		if err := client.Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}

		s.Pause()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if err := client.Ping(ctx).Err(); err == nil {
			t.Error("a paused server answers")
		}

		s.Resume()
		if err := client.Ping(t.Context()).Err(); err != nil {
			t.Errorf("PING after Resume: %v", err)
		}
	})
}

func TestPausedServerCanBeKilled(t *testing.T) {
	t.Parallel()
	EachReal(t, func(_ *testing.T, s *Server) {
		s.Pause()
		s.Kill()
	})
}

// replicationID returns the replication id as the guard reads it, from within a script, where a refusal is no error.
func replicationID(ctx context.Context, t *testing.T, client Client) string {
	t.Helper()
	const script = `
local info = redis.pcall('INFO', 'replication')
if type(info) ~= 'string' then
  return 'INFO gave a ' .. type(info)
end
return string.match(info, 'master_replid:(%x+)\r\n') or info`
	id, err := client.Eval(ctx, script, nil).Text()
	if err != nil {
		t.Fatal(err)
	}
	if len(id) != 40 {
		t.Fatalf("the replication id is %q, want 40 hexadecimal digits", id)
	}
	return id
}
