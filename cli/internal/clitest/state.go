package clitest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// CheckEmpty fails the test if a server has a key other than the settings that it was started with.
func CheckEmpty(t *testing.T, s *redistest.Server) {
	t.Helper()
	keys, err := s.Client(t).Keys(t.Context(), "*").Result()
	keys = slices.DeleteFunc(keys, func(key string) bool { return key == "{Raven}/ServerPrefixForHilo" })
	if len(keys) != 0 || err != nil {
		t.Errorf("got the keys %q, error %v, want none but the settings", keys, err)
	}
}

// WriteFile writes a temporary file.
func WriteFile(t *testing.T, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Furnish writes state of all kinds to a server.
func Furnish(t *testing.T, s *redistest.Server) {
	t.Helper()
	for _, args := range []string{
		"settings set NorthServer/ --tag A --identities", "next Orders --count 50", "seed people --max 9223372036854775807", "seed empty --max 0",
		"identity next companies --count 3", "identity seed orders --value 7", "id invoices/ companies/",
	} {
		Must(t, append(strings.Fields(args), "--redis", s.URL())...)
	}
	if err := s.Client(t).HSet(t.Context(), "{Raven}/HiLo/orders", "Epoch", "1700000000000000003").Err(); err != nil {
		t.Fatal(err)
	}
}

// Furnished is the export of a server after Furnish, as Lasting returns it.
const Furnished = `{"kind":"export","version":3,"namespace":"Raven"}
{"kind":"prefix","serverPrefix":"NorthServer/","nodeTag":"A","identities":true}
{"kind":"hilo","collection":"empty","max":0}
{"kind":"hilo","collection":"Orders","max":50,"ranges":1,"jumps":3}
{"kind":"hilo","collection":"people","max":"9223372036854775807"}
{"kind":"identity","collection":"companies","max":3}
{"kind":"identity","collection":"orders","max":7}
{"kind":"server-side","max":2}
{"kind":"end","counters":6}
`

// Lasting returns an export without replication ids, times and reserves, which differ from run to run.
func Lasting(export string) string {
	return regexp.MustCompile(`,"(replication|origin|written|born|raised|block|raisedAt)":("[0-9a-f]*"|[0-9]+)`).ReplaceAllString(export, "")
}

// AwaitTrue polls until is reports true.
func AwaitTrue(t *testing.T, what string, is func() bool) {
	t.Helper()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(awaitFor); time.Now().Before(deadline); <-ticker.C {
		if is() {
			return
		}
	}
	t.Fatalf("did not come: %s", what)
}

// Everything returns the content of a server, by key.
func Everything(t *testing.T, client redistest.Client) map[string]string {
	t.Helper()
	all := make(map[string]string)
	ctx := context.WithoutCancel(t.Context())
	for _, key := range client.Keys(ctx, "*").Val() {
		if client.Type(ctx, key).Val() == "hash" {
			all[key] = fmt.Sprint(client.HGetAll(ctx, key).Val())
		} else {
			all[key] = client.Dump(ctx, key).Val()
		}
	}
	return all
}

// WantUnchanged fails the test if the content of a server differs from before, which Everything returned.
func WantUnchanged(t *testing.T, client redistest.Client, before map[string]string) {
	t.Helper()
	if after := Everything(t, client); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("something was written: %v, before %v", after, before)
	}
}
