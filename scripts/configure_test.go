package scripts

import (
	"errors"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestInitializeMakesSettingsOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		settings(t, client)
		if err := Initialize(t.Context(), client, serverKey, began, Settings{"NorthServer/", "A", "here", "", "5", "900", "no"}); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{
			"ServerPrefix": "NorthServer/", "NodeTag": "A", "Identities": "here", "MinValue": "5", "MaxValue": "900", "NewCounters": "no",
			"Initialized": "2030-01-01T12:00:30Z",
		}
		wantSame(t, want, storedAt(t, client, serverKey))
		if err := Initialize(t.Context(), client, serverKey, began, Settings{}); !errors.Is(err, ErrInitialized) {
			t.Errorf("once more: got %v, want ErrInitialized", err)
		}
		wantSame(t, want, storedAt(t, client, serverKey))
		settings(t, client)
		if err := Initialize(t.Context(), client, serverKey, began, Settings{}); err != nil {
			t.Fatal(err)
		}
		wantSame(t, map[string]string{"Initialized": "2030-01-01T12:00:30Z"}, storedAt(t, client, serverKey))
	})
}

func TestConfigureComparesAndSets(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		read := Settings{"NorthServer/", "A", "here", "", "5", "900", "no"}
		settings(t, client)
		if err := Initialize(t.Context(), client, serverKey, began, read); err != nil {
			t.Fatal(err)
		}
		wanted := read
		wanted[0], wanted[4] = "SouthServer/", ""
		for i, name := range SettingsFields { // another client changed one of them meanwhile
			stale := read
			stale[i] = map[string]string{"": "everysec"}[read[i]]
			before := dump(t, client)
			err := Configure(t.Context(), client, serverKey, began, stale, wanted)
			if !errors.Is(err, ErrChanged) || !Answered(err) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s was read as %q: got %v, want ErrChanged that names it", name, stale[i], err)
			}
			wantSame(t, before, dump(t, client))
		}
		if err := Configure(t.Context(), client, serverKey, began, read, wanted); err != nil {
			t.Fatal(err)
		}
		got := storedAt(t, client, serverKey)
		if _, left := got["MinValue"]; left || got["ServerPrefix"] != "SouthServer/" || got["NodeTag"] != "A" || got["Initialized"] == "" {
			t.Errorf("got %v, want the new prefix, no MinValue and the rest as before", got)
		}
		if err := Configure(t.Context(), client, serverKey, began, read, wanted); !errors.Is(err, ErrChanged) {
			t.Errorf("sent twice: got %v, want ErrChanged", err)
		}
		// By hand there may be settings without Initialized, which a change makes up for.
		settings(t, client, "ServerPrefix", "N/")
		if err := Configure(t.Context(), client, serverKey, began, Settings{"N/"}, Settings{}); err != nil {
			t.Fatal(err)
		}
		wantSame(t, map[string]string{"Initialized": "2030-01-01T12:00:30Z"}, storedAt(t, client, serverKey))

		client.Del(t.Context(), serverKey)
		client.Set(t.Context(), serverKey, "N/", 0)
		err := Configure(t.Context(), client, serverKey, began, Settings{}, Settings{"N/"})
		if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), serverKey) {
			t.Errorf("a key that is no hash: got %v, want ErrCorrupt that names it", err)
		}
	})
}

func TestConfigureSetsDurableOnlyWhereInfoDoesNotContradict(t *testing.T) {
	t.Parallel()
	s, client := miniDurable(t, "everysec")
	settings(t, client, "Initialized", "now")
	durable := Settings{3: "everysec"}
	refused := func(what string, read, wanted Settings, part string) {
		t.Helper()
		before := dump(t, client)
		if err := Configure(t.Context(), client, serverKey, began, read, wanted); !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: got %v, want ErrChanged with %q", what, err, part)
		}
		wantSame(t, before, dump(t, client))
	}
	s.SetInfo("slave0", "ip=127.0.0.1,port=6380,state=online")
	refused("beside a replica", Settings{}, durable, "replica")
	s.SetInfo("slave0", "")
	if err := Configure(t.Context(), client, serverKey, began, Settings{}, durable); err != nil {
		t.Errorf("got %v, want <nil>", err)
	}
	s.SetInfo("slave0", "ip=127.0.0.1,port=6380,state=online")
	refused("another word", durable, Settings{3: "always"}, "replica")
	if err := Configure(t.Context(), client, serverKey, began, durable, Settings{"N/", 3: "everysec"}); err != nil {
		t.Errorf("another setting beside it: got %v, want <nil>", err)
	}
	if err := Configure(t.Context(), client, serverKey, began, Settings{"N/", 3: "everysec"}, Settings{}); err != nil {
		t.Errorf("its removal: got %v, want <nil>", err)
	}
	withoutInfo(t, s)
	refused("without INFO", Settings{}, durable, "+info")
}
