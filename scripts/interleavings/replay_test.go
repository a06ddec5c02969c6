package interleavings

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// The outcome of scripts that random sequences run is the same in the model and on servers.
func TestModelBehavesAsServersDo(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2)) // the same sequences each time
	type sample struct {
		model *model
		of    service
	}
	var samples []sample
	for _, s := range covered {
		m := newModel(whole, s.setting)
		s.clients, s.events = 3, slices.Concat(s.events, []event{takeLate, arrive, unused, valueLate, exact})
		may := steps(s)
		for range 5 {
			w := m.newWorld()
			for range 300 {
				after := w
				if o := m.apply(&after, may[random.IntN(len(may))]); o.possible && o.twice == "" {
					w = after
				}
			}
		}
		all := slices.SortedFunc(maps.Keys(m.served), func(a, b service) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for _, of := range all[:min(len(all), 40)] {
			samples = append(samples, sample{m, of})
		}
	}
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		client := server.Client(t)
		for _, s := range samples {
			replay(t, s.model, client, s.of)
		}
		t.Logf("%d runs of the scripts", len(samples))
	})
}

// replay runs a script on a server that has the data and sees the time and the INFO of the model.
func replay(t *testing.T, m *model, client redis.Cmdable, of service) {
	t.Helper()
	ctx, want := t.Context(), m.served[of]
	for _, key := range []string{settingsKey, keys[collection].Counter, keys[identity].Counter} {
		client.Del(ctx, key)
		if hash := m.data.values[of.data][key]; len(hash) > 0 {
			client.HSet(ctx, key, hash)
		}
	}
	seconds, microseconds := (&inProcess{clock: of.clock}).time()
	seen := []string{"redis.call('TIME')", fmt.Sprintf("{'%s', '%s'}", seconds, microseconds)}
	for _, section := range []string{"replication", "persistence", "server", "cluster"} {
		seen = append(seen, "redis.pcall('INFO', '"+section+"')", strconv.Quote(of.node.info(section)))
	}
	message := m.messages.values[of.message]
	got := m.call(changed{client, strings.NewReplacer(seen...).Replace}, message)
	stored := data{}
	for _, key := range []string{settingsKey, keys[collection].Counter, keys[identity].Counter} {
		if hash := client.HGetAll(ctx, key).Val(); len(hash) > 0 {
			stored[key] = hash
		}
	}
	if got.got != want.got || got.raised != want.raised || got.ok != want.ok || fmt.Sprintf("%v", got.err) != fmt.Sprintf("%v", want.err) {
		t.Errorf("got %+v, want %+v as in the model, of %+v at\n%s", got, want, message, m.data.values[of.data].text())
	}
	if stored.text() != m.data.values[want.data].text() {
		t.Errorf("got\n%s\nwant\n%s\nas in the model, of %+v at\n%s", stored.text(), m.data.values[want.data].text(), message, m.data.values[of.data].text())
	}
}

// changed is a client that runs each script with changes.
type changed struct {
	redis.Cmdable

	change func(source string) string
}

// EvalSha finds no script, since each one is another.
func (changed) EvalSha(ctx context.Context, _ string, _ []string, _ ...any) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	cmd.SetErr(replied("NOSCRIPT No matching script"))
	return cmd
}

// Eval changes a script and runs it.
func (c changed) Eval(ctx context.Context, source string, keys []string, args ...any) *redis.Cmd {
	return c.Cmdable.Eval(ctx, c.change(source), keys, args...)
}
