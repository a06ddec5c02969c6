package interleavings

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/scripts"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// replay takes the steps of a sequence on two servers of each kind, and in the model with their replication ids, and checks that
// both agree at each step.
func replay(t *testing.T, k kind, sequence []step, l layers, twice bool) {
	t.Helper()
	onPairs(t, map[bool]string{true: "fault on ", false: "mended on "}[twice], func(t *testing.T, servers [2]*redistest.Server) {
		t.Helper()
		m := newModel(k, l)
		m.players = newCast(t, m, servers)
		if words, number := describe(m, sequence); twice != (number != 0) {
			t.Errorf("a number is given twice: %v:%s", number != 0, words)
		}
	})
}

// onPairs runs check on two servers of each kind.
func onPairs(t *testing.T, what string, check func(t *testing.T, servers [2]*redistest.Server)) {
	t.Helper()
	t.Run(what+"miniredis", func(t *testing.T) {
		t.Parallel()
		check(t, [2]*redistest.Server{redistest.StartMini(t), redistest.StartMini(t)})
	})
	for _, b := range redistest.Binaries(t) {
		t.Run(what+b.Name, func(t *testing.T) {
			t.Parallel()
			check(t, [2]*redistest.Server{redistest.Start(t, b), redistest.Start(t, b)})
		})
	}
}

// The outcome of random sequences is the same in the model and on servers.
func TestModelBehavesAsServersDo(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2)) // the same sequences each time
	type played struct {
		kind     kind
		sequence []step
	}
	var all []played
	for range 40 {
		for _, k := range []kind{hilo, identities} {
			m, w := newModel(k, allLayers), newWorld()
			var sequence []step
			for len(sequence) < 15 {
				may := steps(scope{clients: 3}, &w)
				after, next := w, may[random.IntN(len(may))]
				if m.take(&after, next).possible {
					w, sequence = after, append(sequence, next)
				}
			}
			all = append(all, played{k, sequence})
		}
	}
	onPairs(t, "", func(t *testing.T, servers [2]*redistest.Server) {
		t.Helper()
		for _, p := range all {
			m := newModel(p.kind, allLayers)
			m.players = newCast(t, m, servers)
			if words, number := describe(m, p.sequence); number != 0 || t.Failed() {
				t.Fatalf("%d is given twice, or not the same:%s", number, words)
			}
		}
	})
}

// cast is a pair of servers that represent the nodes of a model.
type cast struct {
	t       *testing.T
	model   *model
	servers [2]*redistest.Server
	clients [2]changed
}

func newCast(t *testing.T, m *model, servers [2]*redistest.Server) *cast {
	t.Helper()
	c := &cast{t: t, model: m, servers: servers}
	for n, s := range servers {
		c.clients[n] = changed{s.Client(t), func(source string) string {
			now := fmt.Sprintf("{'%s', '%s'}", seconds, microseconds(m.clock))
			return strings.ReplaceAll(m.layers.lua(source), "redis.call('TIME')", now)
		}}
	}
	m.ids[0] = c.rise(0, counter{})
	return c
}

func (c *cast) rise(n int8, state counter) string {
	c.put(n, state)
	c.servers[n].ChangeReplicationID()
	server, err := scripts.Describe(c.t.Context(), c.clients[n].Client, hilo.keys.Server)
	if err != nil {
		c.t.Fatal(err)
	}
	return server.Origin
}

func (c *cast) put(n int8, state counter) {
	client, key := c.clients[n].Client, c.model.kind.keys.Counter
	if err := client.Del(c.t.Context(), hilo.keys.Counter, identities.keys.Counter).Err(); err != nil {
		c.t.Fatal(err)
	}
	if fields := state.fields(c.model.kind); len(fields) > 0 {
		if err := client.HSet(c.t.Context(), key, fields).Err(); err != nil {
			c.t.Fatal(err)
		}
	}
}

func (c *cast) serve(n int8, request any, want served, state counter) {
	ctx, client := c.t.Context(), c.clients[n]
	var got served
	var err error
	switch r := request.(type) {
	case rangeRequest:
		got.got, err = c.model.request(ctx, client, r)
	case scripts.ReturnRequest:
		got.ok, err = scripts.Return(ctx, client, r)
	case scripts.SeedRequest:
		_, err = scripts.Seed(ctx, client, c.model.kind.keys, r)
		got.ok = err == nil
	}
	if err != nil && !errors.Is(err, scripts.ErrChanged) {
		c.t.Fatal(err)
	}
	for _, r := range []*scripts.Range{&got.got, &want.got} { // of the clock
		r.Issued, r.Seconds = 0, 0
	}
	if want.state = 0; got != want {
		c.t.Errorf("node %d came to %+v, the model to %+v", n+1, got, want)
	}
	fields, err := client.HGetAll(ctx, c.model.kind.keys.Counter).Result()
	if err != nil {
		c.t.Fatal(err)
	}
	if stands := counterOf(c.model.kind, fields); stands != state {
		c.t.Errorf("on node %d stands %+v, in the model %+v", n+1, stands, state)
	}
}

// changed is a client that runs each script with the changes that change makes.
type changed struct {
	redistest.Client

	change func(source string) string
}

// EvalSha finds no script, since change may return another one each time.
func (changed) EvalSha(ctx context.Context, _ string, _ []string, _ ...any) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	cmd.SetErr(replied("NOSCRIPT No matching script"))
	return cmd
}

// Eval changes a script and runs it.
func (c changed) Eval(ctx context.Context, source string, keys []string, args ...any) *redis.Cmd {
	return redis.NewScript(c.change(source)).Run(ctx, c.Client, keys, args...)
}
