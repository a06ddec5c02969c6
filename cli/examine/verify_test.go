package examine

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/scripts/redistest"
)

func TestCleanNamesTheKeysThatAreLeftWhenInterrupted(t *testing.T) {
	t.Parallel()
	server := redistest.StartMini(t)
	at, err := target.Parse(server.URL() + "?max_retries=-1")
	if err != nil {
		t.Fatal(err)
	}
	err = at.Alone().Use(t.Context(), time.Second, func(o target.Opened) error {
		tr := &trial{Session: &base.Session{Namespace: "Raven-verify-1", Timeout: time.Second}, settings: make(map[string]string)}
		tr.open(o)
		server.Kill()
		interrupted, cancel := context.WithCancel(t.Context())
		cancel()
		return o.Explain(interrupted, tr.clean(interrupted))
	})
	if err == nil || !strings.Contains(err.Error(), "remove them with redis-cli DEL '{Raven-verify-1}/") {
		t.Error(err)
	}
}
