package scripts

import (
	"errors"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestDurableWithAnUnknownValueIsRefused(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		for _, value := range []string{"", "Always", "fsync"} {
			say(t, client, "Durable", value)
			if _, err := Next(t.Context(), client, keys, request("one")); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "Durable") {
				t.Errorf("with Durable %q: got %v, want ErrCorrupt that names it", value, err)
			}
		}
	})
}

func TestDurableIsSetUnderTheExpectedReplicationIDOnly(t *testing.T) {
	t.Parallel()
	eachDurable(t, func(t *testing.T, _ *redistest.Server, client redistest.Client, restart func()) {
		set := func(r ConfigureRequest) error {
			return Configure(t.Context(), client, keys.Server, r)
		}
		settled := mustDescribe(t, client).Origin
		restart()
		r := ConfigureRequest{Tag: "A", Identities: true, Durable: DurableSet, Origin: settled}
		for _, origin := range []string{settled, ""} {
			r.Origin = origin
			if err := set(r); !errors.Is(err, ErrChanged) {
				t.Errorf("under another id: got %v, want ErrChanged", err)
			}
		}
		r.Durable = DurableKeep
		if d := mustDescribe(t, client); d.Tag != "" || d.Durable != DurableAlways {
			t.Errorf("after a refusal: got %+v, want no tag", d)
		}
		if err := set(r); err != nil {
			t.Errorf("keep: got %v, want <nil>", err)
		}
		if d := mustDescribe(t, client); d.Tag != "A" || !d.Identities || d.Durable != DurableAlways {
			t.Errorf("kept: got %+v, want tag A and Durable always", d)
		}
		r.Durable = DurableRemove
		if err := set(r); err != nil {
			t.Errorf("remove: got %v, want <nil>", err)
		}
		wantDurable(t, client, "")
	})
}

func TestConfigureRefusesAKeyThatIsNotAHash(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		client.Set(t.Context(), keys.Server, "N/", 0)
		err := Configure(t.Context(), client, keys.Server, ConfigureRequest{Prefix: "N/"})
		if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), keys.Server) {
			t.Errorf("configure: got %v, want ErrCorrupt that names %s", err, keys.Server)
		}
	})
}

// Without INFO a request finds no evidence against Durable, and none for it either, so that it cannot be set.
func TestDurableStaysWithoutInfo(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		client := s.Client(t)
		err := Configure(t.Context(), withoutInfo(t, s), keys.Server, ConfigureRequest{Durable: DurableSet})
		if !errors.Is(err, ErrChanged) {
			t.Errorf("set Durable: got %v, want ErrChanged", err)
		}
		say(t, client, "Durable", "always")
		set(t, client, "Max", 32, "Origin", anotherOrigin)
		importOne(t, withoutInfo(t, s), ImportRequest{})
		wantStored(t, client, "Bare", "65568")
		wantDurable(t, client, "always")
	})
}
