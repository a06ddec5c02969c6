package examine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hilo-id/hilo/allocator/admin"
	"github.com/hilo-id/hilo/allocator/proof"
	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
	"github.com/hilo-id/hilo/cli/internal/target"
	"github.com/hilo-id/hilo/prefix"
)

// identityName is the identity of which workers on several masters take values. All of its values come from one master.
const identityName = "identity"

// master is a server of a trial.
type master struct {
	target.Target
	client    *target.Client
	admin     *admin.Admin  // in the namespace of the trial
	prefix    prefix.Server // in the namespace of the trial
	temporary bool          // prefix was made for the trial
	left      int           // keys that could not be removed
	down      atomic.Bool

	// The goroutine that watch starts owns these fields until it ends.
	process string // run_id of the server, "" if unknown
	outages []outage
	since   time.Time // start of the last outage
}

// open adds the servers, also to the settings of the workers. Each command is limited to --timeout.
func (t *trial) open(o target.Opened) {
	t.servers = o.Servers // with the addresses that other processes use
	keys := prefix.NewKeys(t.Namespace)
	t.keys = []string{keys.Server()}
	if len(o.Targets) > 1 {
		t.keys = append(t.keys, keys.Identity(identityName))
	}
	for _, name := range t.Collections {
		t.keys = append(t.keys, keys.HiLo(name))
	}
	var urls []string
	for i, at := range o.Targets {
		o.Clients[i].Limit(t.Timeout)
		t.masters = append(t.masters, &master{Target: at, client: o.Clients[i]})
		urls = append(urls, strings.TrimPrefix(at.Name+"="+strings.ReplaceAll(at.URL, " ", "%20"), "=")) // it may have no name
	}
	t.settings[base.Variable(base.FlagRedis)] = strings.Join(urls, " ")
	t.settings[base.Variable(base.FlagNamespace)] = t.Namespace
}

// each calls do for one server after the other, and explains its error.
func (t *trial) each(ctx context.Context, do func(*master) error) error {
	for _, m := range t.masters {
		if err := (target.Opened{Servers: m.Alone(), Timeout: t.Timeout}).Explain(ctx, do(m)); err != nil {
			return err
		}
	}
	return nil
}

// prepare checks that all servers answer and permit the removal of keys, before anything is written. It also chooses the
// prefixes of the trial, which are those of the user's namespace.
func (t *trial) prepare(ctx context.Context) error {
	err := t.each(ctx, func(m *master) error {
		if err := m.client.Redis.Del(ctx, t.keys...).Err(); err != nil {
			return exit.OfRedis(err)
		}
		operator, err := admin.New(m.client.Redis, admin.Options{Namespace: t.Base})
		if err != nil {
			return err
		}
		if m.admin, err = admin.New(m.client.Redis, admin.Options{Namespace: t.Namespace}); err != nil {
			return err
		}
		m.prefix, err = operator.ServerPrefix(ctx)
		m.prefix.MinValue, m.prefix.MaxValue, m.prefix.SeededOnly = 0, 0, false // of the user's own numbers
		if m.prefix.IsZero() && len(t.masters) > 1 {
			const maxBytes = 48 // of the name, which is ASCII
			m.prefix.ServerPrefix, m.temporary = "verify-"+m.Label()[:min(maxBytes, len(m.Label()))]+"/", true
		}
		return err
	})
	if len(t.masters) > 1 && !slices.ContainsFunc(t.masters, func(m *master) bool { return m.prefix.Identities }) {
		t.masters[0].prefix.Identities = true
	}
	return err
}

// setUp makes the settings of the trial's namespace, which are those of the user's.
func (t *trial) setUp(ctx context.Context) error {
	return t.each(ctx, func(m *master) error { return m.admin.With(admin.Mode{Trust: true}).Init(ctx, m.prefix) })
}

// counter returns the counter of a series, or zero if it cannot be read.
func (t *trial) counter(ctx context.Context, s *proof.Series) (c admin.Counter) {
	for _, m := range t.masters {
		switch {
		case m.down.Load(): // a timeout for each of many series would take long
		case s.Collection == identityName && m.prefix.Identities:
			c, _ = m.admin.Identity(ctx, identityName)
		case s.ServerPrefix == m.prefix.ServerPrefix && s.NodeTag == m.prefix.NodeTag:
			c, _ = m.admin.Counter(ctx, s.Collection)
		}
	}
	return c
}

// clean removes the keys. Its error names the servers on which keys are left, and has an exit code because an interruption
// hides errors without one.
func (t *trial) clean(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var left []error
	for _, m := range t.masters {
		if err := m.client.Redis.Del(ctx, t.keys...).Err(); err != nil {
			m.left = len(t.keys)
			what, _ := m.Diagnose(exit.OfRedis(err), t.Timeout)
			left = append(left, fmt.Errorf("the keys of verify are still on %s (%s): remove them with redis-cli DEL %s",
				m.Label(), what, quotedKeys(t.keys)))
		}
	}
	if left == nil {
		return nil
	}
	return &exit.Error{Code: exit.Failed, Text: errors.Join(left...).Error()}
}

// quotedKeys quotes keys for a shell.
func quotedKeys(keys []string) string {
	const maxKeys = 10
	var quoted []string
	for _, key := range keys[:min(maxKeys, len(keys))] {
		quoted = append(quoted, "'"+strings.ReplaceAll(key, "'", `'\''`)+"'")
	}
	if more := len(keys) - maxKeys; more > 0 {
		return fmt.Sprintf("%s, and %d more of these names up to %s", strings.Join(quoted, " "), more, keys[len(keys)-1])
	}
	return strings.Join(quoted, " ")
}

const (
	watchEvery   = 200 * time.Millisecond
	watchTimeout = time.Second
)

// watch checks all servers at intervals until stop is called.
func (t *trial) watch(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var watching sync.WaitGroup
	for _, m := range t.masters {
		t.check(ctx, m)
		watching.Go(func() {
			for base.Sleep(ctx, watchEvery); ctx.Err() == nil; base.Sleep(ctx, watchEvery) {
				t.check(ctx, m)
			}
		})
	}
	return func() { cancel(); watching.Wait() }
}

// check checks a server once. It records and prints changes.
func (t *trial) check(ctx context.Context, m *master) {
	at := time.Now()
	process, err := t.ping(ctx, m)
	if ctx.Err() != nil {
		return
	}
	changed := process != "" && m.process != "" && process != m.process
	m.process = cmp.Or(process, m.process)
	wasDown := m.down.Swap(err != nil)
	switch {
	case err != nil && !wasDown:
		m.since = at
		why := target.Brief(err, watchTimeout)
		m.outages = append(m.outages, outage{Server: m.Label(), From: at.Format(outageTime), Reason: why})
		t.live.Eventf(at, "%s is down: %s", m.Label(), why)
	case err == nil && wasDown:
		now, last := time.Now(), &m.outages[len(m.outages)-1]
		last.To, last.Seconds, last.Changed = now.Format(outageTime), now.Sub(m.since).Seconds(), changed
		what := ": the same process"
		if changed {
			what = ": restarted or promoted"
		} else if process == "" {
			what = ""
		}
		t.live.Eventf(now, "%s is back after %.1f s%s", m.Label(), last.Seconds, what)
	case err == nil && changed: // between two checks
		clock := at.Format(outageTime)
		m.outages = append(m.outages, outage{Server: m.Label(), From: clock, To: clock, Changed: true, Reason: "another process answers"})
		t.live.Eventf(at, "%s is another process now: restarted or promoted", m.Label())
	}
}

// ping returns the server's run_id, or "" if that is unknown. It makes lost settings again as hilo help recover says, so that a
// worker that used a counter continues it, and no new one starts it at 1.
func (t *trial) ping(ctx context.Context, m *master) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	found, err := m.client.Redis.Exists(ctx, t.keys[0]).Result() // in a cluster the primary of the namespace replies
	if err != nil {
		return "", err
	}
	if found == 0 {
		again := m.prefix
		again.SeededOnly = true
		if m.admin.With(admin.Mode{Trust: true}).Init(ctx, again) == nil {
			t.live.Eventf(time.Now(), "%s lost its data; its settings are made again, for counters that a worker continues", m.Label())
		}
	}
	if m.IsCluster() { // any node may reply to INFO
		return "", nil
	}
	info, _ := m.client.Info(ctx, "server")
	return info["run_id"], nil
}
