package ravendb

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/prefix"
)

// homeInterval is the greatest age of a comparison of homes: what the master that serves issues does not show another one.
const homeInterval = 10 * time.Second

// masters compares the master that serves a database, the first one, with the others. A nil *masters finds no conflict.
type masters struct {
	all *allocator.Allocator // of all masters; nothing is taken from it

	mu   sync.Mutex    // guards what follows, and is held during a comparison, so that callers wait for the same one
	own  prefix.Server // of the first master, with which no conflict was found
	at   time.Time     // of the latest comparison of homes, zero before the first one
	home error         // what it found
}

// compare returns the settings of all masters, and a conflict between any two of them.
func (m *masters) compare(ctx context.Context) ([]allocator.ServerStats, error) {
	err := m.all.Check(ctx)
	return m.all.Stats().Servers, err
}

// forRange returns a conflict of the masters. They are compared before the first range, without an id, and with the id of a range if
// the prefix or tag changed. Of two masters that change to the same ones, at least one is compared after both have changed.
func (m *masters) forRange(ctx context.Context, id prefix.ID) error {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	verified := func() bool {
		return !m.own.IsZero() && (id.NodeTag == "" || m.own.ServerPrefix == id.ServerPrefix && m.own.NodeTag == id.NodeTag)
	}
	if verified() {
		return nil
	}
	m.own = prefix.Server{}
	servers, err := m.compare(ctx)
	if err != nil {
		return err
	}
	if m.own = servers[0].Settings; id.NodeTag != "" && !verified() {
		return fmt.Errorf("%w: the server no longer reports the prefix of a range, which is discarded", allocator.ErrUnavailable)
	}
	return nil
}

// forIdentity returns an error if the first master is not the home of identities, or not the only one. After the first comparison a
// conflict of prefixes is left to ranges.
func (m *masters) forIdentity(ctx context.Context) error {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.home == nil && !m.at.IsZero() && time.Since(m.at) < homeInterval {
		return nil
	}
	servers, err := m.compare(ctx)
	if err != nil && m.at.IsZero() {
		return err
	}
	m.at, m.home = time.Now(), nil
	if !servers[0].Settings.Identities {
		m.home = fmt.Errorf("%w: RavenDB's clients are served by %s, which is not their home", allocator.ErrIdentitiesElsewhere, servers[0].Name)
	}
	for _, other := range servers[1:] {
		if m.home == nil && other.Settings.Identities {
			m.home = fmt.Errorf("%w: %s and %s both report that they are the home of identities", allocator.ErrPrefixConflict, servers[0].Name, other.Name)
		}
	}
	return m.home
}
