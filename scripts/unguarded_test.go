package scripts

import (
	"errors"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// withoutInfo returns a client whose user is not permitted to call INFO. Other clients are.
func withoutInfo(t *testing.T, s *redistest.Server) redistest.Client {
	t.Helper()
	if !s.Real() { // miniredis has no users, so all clients are refused
		s.Hook(func(cmd string, _ []string) string {
			if cmd == "INFO" {
				return "NOPERM this user has no permissions to run the 'info' command"
			}
			return ""
		})
		return s.Client(t)
	}
	admin := s.Client(t)
	if err := admin.Do(t.Context(), "ACL", "SETUSER", "worker", "on", ">secret", "~*", "+@all", "-info").Err(); err != nil {
		t.Fatal(err)
	}
	opts := redistest.Options(s)
	opts.Username, opts.Password = "worker", "secret"
	client := redis.NewClient(opts)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// Without INFO a client cannot detect a restart of the server, and its write would hide one from the others.
func TestScriptsWithoutInfoRefuseAGuardedCounter(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		admin := s.Client(t)
		mustNext(t, admin, request("one"))
		client := withoutInfo(t, s)
		before := stored(t, client)
		_, err := Next(t.Context(), client, keys, request("two"))
		if !errors.Is(err, ErrUnguarded) || !Answered(err) {
			t.Fatalf("next: got %v, want ErrUnguarded", err)
		}
		for _, part := range []string{keys.Counter, "+info", "Origin"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("got %q, want %q in it", err, part)
			}
		}
		if err := CheckNext(t.Context(), client, keys, request("two")); !errors.Is(err, ErrUnguarded) {
			t.Errorf("check: got %v, want ErrUnguarded", err)
		}
		wantSame(t, before, stored(t, client))

		// This is the remedy where the server permits INFO to no client.
		client.HDel(t.Context(), keys.Counter, "Origin")
		wantRange(t, mustNext(t, client, request("two")), 33, 64)
		wantStored(t, client, "Origin", "")
	})
}

func TestScriptsWithoutInfoServeAnUnguardedCounter(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := withoutInfo(t, s)
		r := request("one")
		r.Name = "Orders"
		first := mustNext(t, client, r)
		wantReturned(t, client, back(first, "one", 5), true)
		wantRange(t, mustNext(t, client, request("two")), 6, 37)
		wantStored(t, client, "Name", "Orders") // as it was spelled first
		mustSeed(t, client, SeedRequest{Value: 100})
		importOne(t, client, ImportRequest{Value: 200})
		got := mustNext(t, client, request("three"))
		if got.Low != 201 || got.Origin != "" || stored(t, client)["Origin"] != "" {
			t.Errorf("got %+v, want 201 without an Origin", got)
		}
		if got, err := Describe(t.Context(), client, serverKey); err != nil || got != (Description{}) {
			t.Errorf("describe: got %+v, %v, want none", got, err)
		}
	})
}
