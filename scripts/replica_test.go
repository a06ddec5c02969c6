package scripts_test

import (
	"strings"
	"testing"

	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// A replica that takes writes has the replication id of its primary, which gives the same numbers: nothing else would
// tell. It gives none until it is promoted, and then jumps.
func TestAReplicaThatTakesWritesGivesNothing(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, primary *redistest.Server) {
		got := mustNext(t, primary.Client(t), request("a"))
		replica := redistest.StartReplica(t, primary, "--replica-read-only", "no")
		client := replica.Client(t)
		before := stored(t, client)
		wantReadOnly := func(what string, err error) {
			t.Helper()
			if err == nil || !strings.HasPrefix(err.Error(), "READONLY ") || scripts.Answered(err) {
				t.Errorf("%s: %v", what, err)
			}
		}
		_, err := scripts.Next(t.Context(), client, keys, request("b"))
		wantReadOnly("next", err)
		companies := scripts.Keys{Counter: "{Raven}/Identities/companies", Server: keys.Server, Other: "{Raven}/HiLo/companies"}
		_, err = scripts.Identity(t.Context(), client, companies, identityRequest(1))
		wantReadOnly("identity", err)
		_, err = scripts.Seed(t.Context(), client, keys, scripts.SeedRequest{Field: scripts.FieldMax, Name: "orders", Value: 1000})
		wantReadOnly("seed", err)
		wantReadOnly("import", scripts.ImportAll(t.Context(), client, []scripts.ImportRequest{
			{Keys: keys, Field: scripts.FieldMax, Name: "orders", Value: 1000},
		})[0].Err)
		_, err = scripts.Return(t.Context(), client, scripts.ReturnRequest{
			Counter: keys.Counter, Token: "a", End: 32, Last: 7, Written: got.Written,
		})
		wantReadOnly("return", err)
		wantSame(t, before, stored(t, client))
		there, err := scripts.Describe(t.Context(), primary.Client(t), keys.Server)
		if err != nil {
			t.Fatal(err)
		}
		if here, err := scripts.Describe(t.Context(), client, keys.Server); err != nil || here.Origin != there.Origin {
			t.Errorf("that both are one is still to be seen: %+v, %v", here, err)
		}

		replica.Promote()
		if got := mustNext(t, client, request("c")); got.Evidence != "origin" {
			t.Errorf("%+v", got)
		}
	})
}
