package admin

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator/internal/failure"
	"github.com/hilo-id/hilo/scripts"
)

// Seed raises a counter to max, 0 or more, and adds it if there is none. It returns the value that stands afterwards. A range
// that is in use can no longer be returned below the seed.
//
// With force it sets the counter, also lower. Numbers in use above it are then issued again, except to running clients that
// have seen them. A forced seed acts once, even if the client library sends it again after a lost reply. If numbers were
// issued since it read the counter, the error is ErrChanged, which names the value that stands now.
//
// Seed waits until every connected replica has the write and, at a durable server, until it is on disk. With ErrNotConfirmed
// it is made, and a failover or a crash can lose it. The other errors are ErrNotSeeded where the server has no settings,
// ErrInvalidName, ErrInvalidOptions, ErrMixed, ErrExhausted above MaxValue, ErrCorrupt and ErrUnavailable.
func (m *Admin) Seed(ctx context.Context, collection string, max int64, force bool) (int64, error) {
	return m.seed(ctx, m.storage(KindHiLo), collection, max, force)
}

// SeedIdentity is Seed for an identity, whose next value is the one after. A trailing "|" of the name is optional.
func (m *Admin) SeedIdentity(ctx context.Context, name string, value int64, force bool) (int64, error) {
	return m.seed(ctx, m.storage(KindIdentity), strings.TrimSuffix(name, "|"), value, force)
}

func (m *Admin) seed(ctx context.Context, s storage, name string, value int64, force bool) (int64, error) {
	if err := m.validName(name); err != nil {
		return 0, err
	}
	if value < 0 {
		return 0, fmt.Errorf("admin: %s: %w: seed of %d: must be 0 or more", name, failure.ErrInvalidOptions, value)
	}
	settings, err := m.ServerPrefix(ctx)
	if err != nil {
		return 0, err
	}
	keys := s.keys(name)
	request := scripts.SeedRequest{Field: s.field, Name: name, Value: value, Force: force, Token: m.mode.RequestID}
	if force && m.mode.RequestID == "" {
		if request.Expected, err = scripts.Stands(ctx, m.client, keys.Counter, s.field); err != nil {
			return 0, attemptError(ctx, name, err)
		}
	}
	var stands int64
	permits := func() []scripts.PermitRequest {
		return []scripts.PermitRequest{{Keys: keys, Raised: value}}
	}
	err = m.confirmed(ctx, name, settings.Durable, permits, func(client redis.Scripter) (err error) {
		stands, err = scripts.Seed(ctx, client, keys, request)
		return err
	})
	return stands, err
}
