package cli

import (
	"context"
	"fmt"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
)

// master is a server of the demo's own.
type master struct {
	name   string
	prefix string
	server *miniredis.Miniredis
	addr   string
}

// masterPair are the two of them, in order of preference.
type masterPair struct{ north, south *master }

// startMasters starts both, each with a prefix of its own.
func startMasters(ctx context.Context, namespace string) (masterPair, error) {
	m := masterPair{
		north: &master{name: "north", prefix: "NorthServer/", server: miniredis.NewMiniRedis()},
		south: &master{name: "south", prefix: "SouthServer/", server: miniredis.NewMiniRedis()},
	}
	for _, one := range m.all() {
		if err := one.start(ctx, namespace); err != nil {
			m.close()
			return m, err
		}
	}
	return m, nil
}

func (m masterPair) all() []*master { return []*master{m.north, m.south} }

func (m masterPair) close() {
	for _, one := range m.all() {
		one.server.Close()
	}
}

func (m *master) start(ctx context.Context, namespace string) error {
	if err := m.server.StartAddr("127.0.0.1:0"); err != nil {
		return fmt.Errorf("the server %s does not start: %w", m.name, err)
	}
	m.addr = m.server.Addr()
	return m.administer(namespace, func(admin *allocator.Admin) error {
		return admin.SetServerPrefix(ctx, prefix.Server{ServerPrefix: m.prefix})
	})
}

// client is a new one, that tries once: what comes after is the allocator's.
func (m *master) client() *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr:                     m.addr,
		MaxRetries:               -1,
		DialerRetries:            1,
		ContextTimeoutEnabled:    true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

func (m *master) administer(namespace string, do func(*allocator.Admin) error) error {
	client := m.client()
	defer func() { _ = client.Close() }()
	admin, err := allocator.NewAdmin(client, namespace)
	if err != nil {
		return err
	}
	return do(admin)
}

// allocator is one on both masters, as a program of its own would have it; done ends its connections.
func (m masterPair) allocator(preferred *master, opts allocator.Options) (a *allocator.Allocator, done func(), err error) {
	order := m.all()
	if preferred == m.south {
		order = []*master{m.south, m.north}
	}
	var all []allocator.Server
	var clients []*redis.Client
	for _, one := range order {
		client := one.client()
		clients = append(clients, client)
		all = append(all, allocator.Server{Name: one.name, Client: client})
	}
	a, err = allocator.NewMulti(all, opts)
	return a, func() {
		for _, client := range clients {
			_ = client.Close()
		}
	}, err
}
