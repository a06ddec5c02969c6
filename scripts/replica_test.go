package scripts

import (
	"context"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// A writable replica has the replication id of its primary, which issues the same numbers, so no evidence would show the conflict.
func TestScriptsRefuseAWritableReplica(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, primary *redistest.Server) {
		replica := redistest.StartReplica(t, primary, "--replica-read-only", "no")
		client := replica.Client(t)
		got := mustNext(t, primary.Client(t), request("a"))
		replica.Await("to have the range", func(ctx context.Context) bool { return client.HGet(ctx, keys.Counter, "Max").Val() == "32" })
		before := dump(t, client)
		companies := Keys{Counter: "{Raven}/Identities/companies", Server: serverKey, Other: "{Raven}/HiLo/companies"}
		r := request("b")
		_, nextErr := Next(t.Context(), client, keys, r)
		_, identityErr := Identity(t.Context(), client, companies, identityRequest(1))
		_, raiseErr := RaiseNext(t.Context(), client, keys, r)
		_, seedErr := Seed(t.Context(), client, keys, SeedRequest{Field: FieldMax, Name: "orders", Value: 1000})
		_, returnErr := Return(t.Context(), client, back(got, "a", 7))
		desc, err := DescribeAsWrite(t.Context(), client, serverKey)
		if err != nil || desc.Origin != got.Origin {
			t.Errorf("describe as a write: got %+v, %v, want the Origin %s of the primary", desc, err, got.Origin)
		}
		for name, err := range map[string]error{
			"next": nextErr, "identity": identityErr, "raise": raiseErr, "seed": seedErr, "return": returnErr, "describe": desc.Refused,
			"import":    importOne(t, client, ImportRequest{Value: 1000}).Err,
			"permit":    Permit(t.Context(), client, PermitRequest{Keys: keys, Raised: 5})[0].Err,
			"check":     CheckNext(t.Context(), client, keys, r),
			"configure": Configure(t.Context(), client, serverKey, began, Settings{}, Settings{"N/"}),
		} {
			if err == nil || !strings.HasPrefix(err.Error(), "READONLY ") || Answered(err) || !WriteRefused(err) {
				t.Errorf("%s: got %v, want READONLY", name, err)
			}
		}
		wantSame(t, before, dump(t, client))

		replica.Promote()
		if got := mustNext(t, client, request("c")); got.Evidence != EvidenceOrigin {
			t.Errorf("after its promotion: got %+v, want evidence origin", got)
		}
	})
}
