package scripts

import (
	"strings"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// A writable replica has the replication id of its primary, which issues the same numbers, so no other evidence would show the
// conflict. After its promotion the replica issues numbers again, and its first range jumps.
func TestScriptsRefuseAWritableReplica(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, primary *redistest.Server) {
		got := mustNext(t, primary.Client(t), request("a"))
		replica := redistest.StartReplica(t, primary, "--replica-read-only", "no")
		client := replica.Client(t)
		before := stored(t, client)
		wantReadOnly := func(what string, err error) {
			t.Helper()
			if err == nil || !strings.HasPrefix(err.Error(), "READONLY ") || Answered(err) {
				t.Errorf("%s: got %v, want READONLY", what, err)
			}
		}
		_, err := Next(t.Context(), client, keys, request("b"))
		wantReadOnly("next", err)
		companies := Keys{Counter: "{Raven}/Identities/companies", Server: keys.Server, Other: "{Raven}/HiLo/companies"}
		_, err = Identity(t.Context(), client, companies, identityRequest(1))
		wantReadOnly("identity", err)
		_, err = Seed(t.Context(), client, keys, SeedRequest{Field: FieldMax, Name: "orders", Value: 1000})
		wantReadOnly("seed", err)
		wantReadOnly("import", ImportAll(t.Context(), client, []ImportRequest{
			{Keys: keys, Field: FieldMax, Name: "orders", Value: 1000},
		})[0].Err)
		_, err = Return(t.Context(), client, ReturnRequest{
			Counter: keys.Counter, Token: "a", End: 32, Last: 7, Written: got.Written,
		})
		wantReadOnly("return", err)
		wantReadOnly("check", Check(t.Context(), client, CheckRequest{Keys: keys, Limit: 100}))
		wantReadOnly("configure", Configure(t.Context(), client, keys.Server, ConfigureRequest{Prefix: "N/"}))
		wantSame(t, before, stored(t, client))
		there, err := Describe(t.Context(), primary.Client(t), keys.Server)
		if err != nil {
			t.Fatal(err)
		}
		if here, err := Describe(t.Context(), client, keys.Server); err != nil || here.Origin != there.Origin {
			t.Errorf("got %+v, %v, want the Origin %s of the primary", here, err, there.Origin)
		}

		replica.Promote()
		if got := mustNext(t, client, request("c")); got.Evidence != "origin" {
			t.Errorf("got %+v, want evidence origin", got)
		}
	})
}
