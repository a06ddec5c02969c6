package admin

import (
	"errors"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/allocator/internal/failure"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// A field that an export leaves out makes the new server forget what it means, such as that numbers were issued without a prefix.
func TestExportCarriesEveryFieldThatAScriptReads(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		from, to := redistest.NewClient(t, s), redistest.NewClient(t, another(t, s))
		own := from.Eval(t.Context(), "return string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')", nil).Val()
		keys := prefix.NewKeys("Raven")
		values := func(of string) map[string]any { // of a kind of counter, beyond what a double holds
			other := map[string]string{scripts.FieldMax: scripts.FieldValue, scripts.FieldValue: scripts.FieldMax}[of]
			fields := map[string]any{"Name": "Orders", "Origin": own, "Lease": "token", "Forced": "token"}
			for i, field := range scripts.Fields {
				if !field.Text && field.Name != other {
					fields[field.Name] = int64(1)<<62 + int64(i)
				}
			}
			fields["Bare"], fields["Written"] = 1, int64(1_700_000_000_001)
			if of == scripts.FieldValue {
				delete(fields, "Bare")
				fields[of] = int64(prefix.MaxServerSide) // more has no text of 19 digits
			}
			return fields
		}
		for key, of := range map[string]string{keys.HiLo("orders"): scripts.FieldMax, keys.Identity("people"): scripts.FieldValue, keys.ServerSide(): scripts.FieldValue} {
			from.HSet(t.Context(), key, values(of))
		}
		from.HSet(t.Context(), keys.Server(), "NodeTag", "A") // with which a name may be of both kinds
		to.HSet(t.Context(), keys.Server(), "NodeTag", "A")
		all, err := mustNew(t, from, Options{}).Export(t.Context())
		if err != nil || len(all.States) != 3 {
			t.Fatalf("got %+v and %v, want three counters", all, err)
		}
		for i, got := range mustNew(t, to, Options{}).Import(t.Context(), all.States) {
			if got.Err != nil || all.States[i].Margin != 0 {
				t.Errorf("%s: got %+v, with a margin of %d, want it imported without", all.States[i].Kind, got, all.States[i].Margin)
			}
		}
		for _, key := range []string{keys.HiLo("orders"), keys.Identity("people"), keys.ServerSide()} {
			want, got := from.HGetAll(t.Context(), key).Val(), to.HGetAll(t.Context(), key).Val()
			for _, field := range scripts.Fields {
				name := field.Name
				switch {
				case field.OfRequest || name == "Ceiling": // of that server and its disk
					if got[name] != "" {
						t.Errorf("%s: got %s %q, want none", key, name, got[name])
					}
				case name == "Origin" && got[name] != "" && got[name] != want[name]: // its own
				case name == "Written" && got[name] > want[name]:
				case name == "Name" && key != keys.HiLo("orders"): // of another key here
				case got[name] != want[name]:
					t.Errorf("%s: got %s %q, want %q", key, name, got[name], want[name])
				}
			}
		}
	})
}

// units is how many of the least margin a counter jumps by at least after a restart without an append-only file.
const units = 4 * 15

func TestExportMarksCountersThatMayHaveLostWrites(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client, m := redistest.NewClient(t, s), mustNew(t, redistest.NewClient(t, s), Options{})
		for _, name := range []string{"orders", "old"} {
			if _, err := m.Seed(t.Context(), name, 32, false); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := m.SeedIdentity(t.Context(), "people", 7, false); err != nil {
			t.Fatal(err)
		}
		client.HSet(t.Context(), "{Raven}/HiLo/byhand", "Max", 5)
		client.HSet(t.Context(), "{Raven}/HiLo/old", "Raised", 100_000, "Block", 40_000, "Epoch", int64(1_700_000_000_000_000_002))
		lost := func() map[string]State {
			t.Helper()
			all, err := m.Export(t.Context())
			if err != nil || all.Replication == "" {
				t.Fatalf("got %q and %v, want a replication id", all.Replication, err)
			}
			states := make(map[string]State)
			for _, state := range all.States {
				if state.Margin > 0 {
					states[state.Name] = state
				}
			}
			return states
		}
		if got := lost(); len(got) != 0 {
			t.Errorf("before a restart: got %v, want none", got)
		}
		s.ChangeReplicationID()
		states := lost()
		if len(states) != 3 || states["old"].Jumps != 2 || states["old"].Born != 1_700_000_000_000 {
			t.Errorf("after a restart: got %+v, want orders, old and people", states)
		}

		// On another server each continues above all that may have been issued.
		to := mustNew(t, redistest.NewClient(t, redistest.StartMini(t)), Options{})
		all := []State{states["orders"], states["old"], states["people"]}
		checked := to.CheckImport(t.Context(), prefix.Server{}, all)
		for range 2 { // the second time changes nothing
			for i, got := range to.Import(t.Context(), all) {
				want := []int64{32 + units*16_384, 100_000 + units*40_000, 7 + units*256}[i]
				if got.Err != nil || got.Now != want || checked[i].Now != want {
					t.Errorf("%s: got %+v, and %+v without writing; want %d", all[i].Name, got, checked[i], want)
				}
			}
		}
		if got, err := to.Counter(t.Context(), "old"); err != nil || got.Jumps != 3 || got.Born != 1_700_000_000_000 {
			t.Errorf("got %+v and %v, want one jump more", got, err)
		}
	})
}

// A snapshot may lack an hour, and an export does not find out that a promoted server was up meanwhile. A counter that has no
// room for its margin is exhausted, and no number wraps.
func TestExportOfAPromotedServerAddsAMargin(t *testing.T) {
	t.Parallel()
	s := redistest.StartMini(t)
	client, m := redistest.NewClient(t, s), mustNew(t, redistest.NewClient(t, s), Options{})
	old := strings.Repeat("0f", 20)
	s.SetInfo("master_replid2", old)
	client.HSet(t.Context(), "{Raven}/HiLo/orders", "Max", 32, "Raised", 16_416, "Block", 16_384, "Origin", old)
	client.HSet(t.Context(), "{Raven}/HiLo/full", "Max", int64(1<<63-2), "Origin", old)
	client.HSet(t.Context(), "{Raven}/HiLo/large", "Max", 1, "Block", int64(1<<62), "Origin", old)
	all, err := m.Export(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{"orders": 16_384 + 60*16_384, "full": 1, "large": 1<<63 - 2}
	for i := range all.States {
		if state := &all.States[i]; state.Margin != want[state.Name] {
			t.Errorf("%s: got a margin of %d, want %d", state.Name, state.Margin, want[state.Name])
		}
	}
}

// What a durable server reserved is on its disk, so a restart costs no more than that.
func TestExportOfARestartedDurableServerAddsWhatItReserved(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, field, value string
		want               int64
	}{
		{"restarted", "", "", 64},
		{"promoted", "master_replid2", strings.Repeat("0f", 20), 64 + 4*16_384},
		{"a replica is connected", "slave0", "ip=127.0.0.1,port=6380,state=online", 64 + 4*16_384},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := startDurableMini(t)
			client := redistest.NewClient(t, s)
			client.HSet(t.Context(), "{Raven}/ServerPrefixForHilo", "Durable", "always")
			client.HSet(t.Context(), "{Raven}/HiLo/orders", "Max", 32, "Raised", 96, "Ceiling", 96, "Block", 64, "Origin", strings.Repeat("0f", 20))
			if test.field != "" {
				s.SetInfo(test.field, test.value)
			}
			all, err := mustNew(t, client, Options{}).Export(t.Context())
			if err != nil || len(all.States) != 1 || all.States[0].Margin != test.want || all.States[0].Ceiling != 96 {
				t.Errorf("got %+v and %v, want a margin of %d", all, err, test.want)
			}
		})
	}
}

func TestExportRefusesAnOriginThatItCannotCompare(t *testing.T) {
	t.Parallel()
	s := redistest.StartMini(t)
	m := mustNew(t, redistest.NewClient(t, s), Options{})
	if _, err := m.Seed(t.Context(), "orders", 32, false); err != nil {
		t.Fatal(err)
	}
	s.Hook(func(cmd string, _ []string) string {
		if cmd == "INFO" {
			return "NOPERM this user has no permissions to run the 'info' command"
		}
		return ""
	})
	if _, err := m.Export(t.Context()); !errors.Is(err, scripts.ErrUnguarded) || !strings.Contains(err.Error(), "orders has an Origin") {
		t.Errorf("got %v, want ErrUnguarded that names the counter", err)
	}
}

func TestExportRefusesAReplicaAndAServerThatRestarts(t *testing.T) {
	t.Parallel()
	redistest.EachReal(t, func(t *testing.T, s *redistest.Server) {
		m := mustNew(t, redistest.NewClient(t, s), Options{})
		if _, err := m.Seed(t.Context(), "orders", 32, false); err != nil {
			t.Fatal(err)
		}
		if _, err := mustNew(t, redistest.NewClient(t, redistest.StartReplica(t, s)), Options{}).Export(t.Context()); !errors.Is(err, ErrReplica) {
			t.Errorf("a replica: got %v, want ErrReplica", err)
		}
	})
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		hook := &onCommand{s: s, name: "hmget", times: 1, do: s.ChangeReplicationID}
		client := redistest.NewClient(t, s)
		client.AddHook(hook)
		if _, err := mustNew(t, client, Options{}).Export(t.Context()); !errors.Is(err, ErrIncomplete) || !errors.Is(err, failure.ErrUnavailable) {
			t.Errorf("restarted meanwhile: got %v, want ErrIncomplete", err)
		}
	})
}
