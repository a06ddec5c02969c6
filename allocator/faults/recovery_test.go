package faults

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts/redistest"
)

// client is an allocator on one server or on two masters, and the number of connections that it has opened to each.
type client struct {
	name    string
	ids     *allocator.Allocator
	servers []*redistest.Server
	dials   []*atomic.Int64
}

func newClient(t *testing.T, b redistest.Binary, prefixes ...string) *client {
	t.Helper()
	c := &client{name: fmt.Sprintf("%s, %d servers", b.Name, len(prefixes))}
	var masters []allocator.Server
	for _, serverPrefix := range prefixes {
		s := redistest.Start(t, b, "--appendonly", "yes", "--appendfsync", "always")
		opts := redistest.Options(s)
		c.servers, c.dials = append(c.servers, s), append(c.dials, redistest.CountDials(opts))
		connection := redis.NewClient(opts)
		t.Cleanup(func() { _ = connection.Close() })
		masters = append(masters, allocator.Server{Name: serverPrefix, Client: connection})
		m, err := admin.New(connection, admin.Options{})
		if err == nil && serverPrefix != "" {
			err = m.SetServerPrefix(t.Context(), prefix.Server{ServerPrefix: serverPrefix})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if len(masters) == 1 {
		c.ids, err = allocator.New(masters[0].Client, allocator.Options{})
	} else {
		c.ids, err = allocator.NewMulti(masters, allocator.Options{})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.ids.Close(context.Background()) })
	if _, err := c.ids.Next(t.Context(), "orders"); err != nil {
		t.Fatal(err)
	}
	return c
}

// useUp takes identifiers until none are left.
func (c *client) useUp(t *testing.T) {
	t.Helper()
	for range 100_000 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		_, err := c.ids.Next(ctx, "orders")
		cancel()
		if err != nil {
			return
		}
	}
	t.Fatal("got 100,000 identifiers, want an error")
}

// An outage that outlasts the numbers in hand ends without a call. A probe finds the server up and starts the refill that the
// last call requested. All servers are down together, so that the test takes as long as one of them.
func TestReadyRecoversAfterAnOutage(t *testing.T) {
	t.Parallel()
	var all []*client
	for _, b := range redistest.Binaries(t) {
		all = append(all, newClient(t, b, ""), newClient(t, b, "N/", "S/"))
	}
	if len(all) == 0 {
		redistest.Missing(t, "a real server")
	}
	each := func(do func(c *client, i int, s *redistest.Server)) {
		for _, c := range all {
			for i, s := range c.servers {
				do(c, i, s)
			}
		}
	}
	each(func(_ *client, _ int, s *redistest.Server) { s.Kill() })
	for _, c := range all {
		c.useUp(t)
	}
	for _, c := range all { // the refill that the last call requested fails
		for c.ids.Stats().Collections[0].Failures == 0 {
			pass(time.Millisecond)
		}
	}
	each(func(c *client, i int, _ *redistest.Server) { c.dials[i].Store(0) })
	const outage = 15
	pass(outage * time.Second)
	each(func(c *client, i int, _ *redistest.Server) {
		if n := c.dials[i].Load(); n == 0 || n > 2*outage {
			t.Errorf("%s: got %d connections in %d s without calls, want some, at most 2 a second", c.name, n, outage)
		}
	})
	for _, c := range all {
		if c.ids.Stats().Ready() {
			t.Errorf("%s: got ready, want not ready", c.name)
		}
	}
	each(func(_ *client, _ int, s *redistest.Server) { s.Restart() })
	back := time.Now()
	each(func(c *client, i int, _ *redistest.Server) {
		for {
			stats := c.ids.Stats()
			if stats.Ready() && stats.Servers[i].Up && stats.Collections[0].Held > 0 {
				return
			}
			if time.Since(back) > 15*time.Second {
				t.Errorf("%s: got ready %v, %+v after 15 s, want all servers up and numbers in hand", c.name, stats.Ready(), stats.Servers[i])
				return
			}
			pass(10 * time.Millisecond)
		}
	})
}
