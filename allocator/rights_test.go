package allocator

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// workerACL is the user of the README. It has exactly the rights that a worker needs.
var workerACL = []string{
	"on", ">secret", "resetkeys", "~{Raven}/*", "resetchannels", "-@all",
	"+evalsha", "+eval", "+hmget", "+hset", "+hdel", "+exists", "+time", "+info",
	"+hello",
}

func TestReadmeListsTheRightsOfAWorker(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rule, _ := strings.Cut(string(readme), "ACL SETUSER worker ")
	rule, _, _ = strings.Cut(rule, "\n```")
	want := slices.DeleteFunc(slices.Clone(workerACL), func(word string) bool { return strings.HasPrefix(word, "reset") })
	if got := strings.Fields(strings.NewReplacer("'", "", "\\\n", "").Replace(rule)); !slices.Equal(got, want) {
		t.Errorf("README: got %q, want %q", got, want)
	}
}

func TestReadmeRightsSufficeForAWorker(t *testing.T) {
	t.Parallel()
	for _, info := range []bool{true, false} {
		redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
			operator := redistest.NewClient(t, s)
			rule := []any{"ACL", "SETUSER", "worker"}
			for _, word := range workerACL {
				if word != "+info" || info {
					rule = append(rule, word)
				}
			}
			if err := operator.Do(t.Context(), rule...).Err(); err != nil {
				t.Fatal(err)
			}
			opts := redistest.Options(s)
			opts.Username, opts.Password = "worker", "secret"
			client := redis.NewClient(opts)
			t.Cleanup(func() { _ = client.Close() })
			a := mustNew(t, client, Options{})
			for want := int64(1); want <= 100; want++ {
				if got := mustNumber(t, a, "orders"); got != want {
					t.Fatalf("got %d, want %d", got, want)
				}
			}
			mustClose(t, a)
			wantMax(t, operator, "100")
			if origin := operator.HGet(t.Context(), "{Raven}/HiLo/orders", "Origin").Val(); (origin != "") != info {
				t.Errorf("INFO permitted %v: got the Origin %q, want one only with INFO", info, origin)
			}
		})
	}
}

// TestRightsWithSelectorsSufficeForAWorker uses the rule in docker/README.md.
func TestRightsWithSelectorsSufficeForAWorker(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docker/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "redis-cli ACL SETUSER worker ")
	text, _, _ = strings.Cut(text, "\n```")
	rule := []any{"ACL", "SETUSER", "worker"}
	for i, part := range strings.Split(strings.ReplaceAll(text, "\\\n", ""), "'") {
		if i%2 == 1 { // in quotes
			rule = append(rule, part)
			continue
		}
		for word := range strings.FieldsSeq(part) {
			rule = append(rule, word)
		}
	}
	refused := regexp.MustCompile("NOPERM|can't access at least one of the keys|No permissions to access a key")
	eachDurable(t, "always", func(t *testing.T, s *redistest.Server) {
		operator := redistest.NewClient(t, s)
		if err := operator.Do(t.Context(), rule...).Err(); err != nil {
			t.Fatal(err)
		}
		operator.HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "NodeTag", "A", "Identities", "here")
		opts := redistest.Options(s)
		opts.Username, opts.Password = "worker", "secret"
		client := redis.NewClient(Tune(opts))
		t.Cleanup(func() { _ = client.Close() })
		a := mustNew(t, client, Options{})
		if err := a.Check(t.Context(), "orders"); err != nil {
			t.Errorf("Check: got %v, want <nil>", err)
		}
		for _, id := range []string{"companies|", "invoices/"} {
			if _, err := a.Resolve(t.Context(), id); err != nil {
				t.Errorf("%s: got %v, want <nil>", id, err)
			}
		}
		for range 50 {
			if _, err := a.Next(t.Context(), "orders"); err != nil {
				t.Fatalf("Next: got %v, want <nil>", err)
			}
		}
		mustClose(t, a)
		wantMax(t, operator, "50")

		redistest.StartReplica(t, s) // so that Durable is not true any more
		a = mustNew(t, client, Options{})
		if _, err := a.Next(t.Context(), "orders"); err != nil {
			t.Errorf("Next beside a replica: got %v, want <nil>", err)
		}
		mustClose(t, a)
		if operator.HExists(t.Context(), "{Raven}/ServerPrefixForHilo", "Durable").Val() {
			t.Error("got Durable, want it removed")
		}

		for _, command := range []string{
			"HSET {Raven}/ServerPrefixForHilo NodeTag B", "HSET {Raven}/other f v", "HMGET other f", "DEL {Raven}/HiLo/orders", "FLUSHALL",
			"EVAL return(redis.call('HSET',KEYS[1],'NodeTag','B')) 1 {Raven}/ServerPrefixForHilo",
		} {
			var args []any
			for word := range strings.FieldsSeq(command) {
				args = append(args, word)
			}
			err := client.Do(t.Context(), args...).Err()
			if err == nil || !refused.MatchString(err.Error()) {
				t.Errorf("%s: got %v, want NOPERM", command, err)
			}
		}
		if err := client.HSet(t.Context(), "{Raven}/HiLo/orders", "Max", 1).Err(); err != nil { // as the page says
			t.Errorf("HSET of a counter: got %v, want <nil>", err)
		}
	})
}
