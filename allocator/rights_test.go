package allocator

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// workerACL is the user of the README: what it names, a worker needs; what it
// does not, it does without.
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
	rule, _, _ = strings.Cut(rule, "\n")
	want := slices.DeleteFunc(slices.Clone(workerACL), func(word string) bool { return strings.HasPrefix(word, "reset") })
	if got := strings.Fields(strings.ReplaceAll(rule, "'", "")); !slices.Equal(got, want) {
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
