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

// identityName is that of the identity that workers on several masters take beside the collections: all of its values
// come from one master.
const identityName = "identity"

// master is a server of the proof. While the proof runs it is watched: looked at now and then, whether it answers.
type master struct {
	name      string
	target    target.Target
	client    *target.Client
	admin     *admin.Admin  // in the namespace of the proof
	adds      prefix.Server // there
	temporary bool          // prefix: it has none of its own
	left      int           // keys that could not be removed
	away      atomic.Bool

	// These are its watcher's until that has ended.
	process string // run_id of the server, "": unknown
	outages []outage
	since   time.Time // when the last of them began
}

// newTrial returns a trial on servers, whose steps have --timeout each.
func newTrial(v verify, o target.Opened) *trial {
	keys := prefix.NewKeys(v.Namespace)
	t := &trial{verify: v, keys: []string{keys.Server()}}
	if len(o.Targets) > 1 {
		t.keys = append(t.keys, keys.Identity(identityName))
	}
	for _, name := range v.Collections {
		t.keys = append(t.keys, keys.HiLo(name))
	}
	for i, at := range o.Targets {
		o.Clients[i].Limit(v.Timeout)
		operator, err := o.Clients[i].Admin(admin.Options{Namespace: v.Namespace})
		if err != nil {
			panic("bug: " + err.Error()) // the user's namespace is valid, and is how this one begins
		}
		t.masters = append(t.masters, &master{name: at.Label(), target: at, client: o.Clients[i], admin: operator})
	}
	return t
}

// each does something at one server after the other. Its error names the server.
func (t *trial) each(ctx context.Context, do func(*master) error) error {
	for _, m := range t.masters {
		if err := (target.Opened{Servers: m.target.Alone(), Timeout: t.Timeout}).Explain(ctx, do(m)); err != nil {
			return err
		}
	}
	return nil
}

// prepare makes sure that all servers answer and let the keys of the proof be removed, before anything is written, and
// finds the prefixes that they are to have: those that they have in the user's namespace.
func (t *trial) prepare(ctx context.Context) error {
	err := t.each(ctx, func(m *master) error {
		if err := m.client.Del(ctx, t.keys...); err != nil {
			return exit.OfRedis(err)
		}
		yours, err := m.client.Admin(admin.Options{Namespace: t.Base})
		if err != nil {
			return err
		}
		m.adds, err = yours.ServerPrefix(ctx)
		if m.adds.IsZero() && len(t.masters) > 1 {
			const most = 48 // letters of a name, which is letters, digits and _ . - only
			m.adds.ServerPrefix, m.temporary = "verify-"+m.name[:min(most, len(m.name))]+"/", true
		}
		return err
	})
	if len(t.masters) > 1 && !slices.ContainsFunc(t.masters, func(m *master) bool { return m.adds.Identities }) {
		t.masters[0].adds.Identities = true
	}
	return err
}

// setUp writes what the servers need before the first identifier is taken.
func (t *trial) setUp(ctx context.Context) error {
	return t.each(ctx, func(m *master) error {
		if !m.adds.IsZero() {
			if err := m.admin.TrustSettings().SetServerPrefix(ctx, m.adds); err != nil { // they state it already
				return err
			}
		}
		if !t.servers.RequireSeeded {
			return nil
		}
		for _, name := range t.Collections {
			if _, err := m.admin.Seed(ctx, name, 0, false); err != nil {
				return err
			}
		}
		if !m.adds.Identities || len(t.masters) == 1 {
			return nil
		}
		_, err := m.admin.SeedIdentity(ctx, identityName, 0, false)
		return err
	})
}

// counter reads the counter of a series. It returns zero where that cannot be read, or the server is down.
func (t *trial) counter(ctx context.Context, s *proof.Series) (c admin.Counter) {
	for _, m := range t.masters {
		switch {
		case m.away.Load(): // to ask for each of many would take long
		case s.Collection == identityName && m.adds.Identities:
			c, _ = m.admin.Identity(ctx, identityName)
		case s.ServerPrefix == m.adds.ServerPrefix && s.NodeTag == m.adds.NodeTag:
			c, _ = m.admin.Counter(ctx, s.Collection)
		}
	}
	return c
}

// clean removes the keys. Its error names the servers where it could not, and has a code, without which an interruption would
// hide it.
func (t *trial) clean(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var left []error
	for _, m := range t.masters {
		if err := m.client.Del(ctx, t.keys...); err != nil {
			m.left = len(t.keys)
			what, _ := m.target.Diagnose(exit.OfRedis(err), t.Timeout)
			left = append(left, fmt.Errorf("the keys of verify are still on %s (%s): remove them with redis-cli DEL %s",
				m.name, what, quotedKeys(t.keys)))
		}
	}
	if left == nil {
		return nil
	}
	return &exit.Error{Code: exit.Failed, Text: errors.Join(left...).Error()}
}

// quotedKeys returns keys as a shell takes them.
func quotedKeys(keys []string) string {
	const most = 10
	var quoted []string
	for _, key := range keys[:min(most, len(keys))] {
		quoted = append(quoted, "'"+strings.ReplaceAll(key, "'", `'\''`)+"'")
	}
	if more := len(keys) - most; more > 0 {
		return fmt.Sprintf("%s, and %d more of these names up to %s", strings.Join(quoted, " "), more, keys[len(keys)-1])
	}
	return strings.Join(quoted, " ")
}

const (
	watchEvery   = 200 * time.Millisecond
	watchTimeout = time.Second
)

// watch watches all servers until stop is called.
func (t *trial) watch(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var watching sync.WaitGroup
	for _, m := range t.masters {
		t.lookAt(ctx, m)
		watching.Go(func() {
			for base.Sleep(ctx, watchEvery); ctx.Err() == nil; base.Sleep(ctx, watchEvery) {
				t.lookAt(ctx, m)
			}
		})
	}
	return func() { cancel(); watching.Wait() }
}

// lookAt asks a server once, and records and prints what changed.
func (t *trial) lookAt(ctx context.Context, m *master) {
	at := time.Now()
	process, err := t.ask(ctx, m)
	if ctx.Err() != nil {
		return
	}
	changed := process != "" && m.process != "" && process != m.process
	m.process = cmp.Or(process, m.process)
	wasAway := m.away.Swap(err != nil)
	switch {
	case err != nil && !wasAway:
		m.since = at
		why := target.Brief(err, watchTimeout)
		m.outages = append(m.outages, outage{Server: m.name, From: at.Format(outageTime), Reason: why})
		t.live.Eventf(at, "%s is down: %s", m.name, why)
	case err == nil && wasAway:
		now, last := time.Now(), &m.outages[len(m.outages)-1]
		last.To, last.Seconds, last.Changed = now.Format(outageTime), now.Sub(m.since).Seconds(), changed
		what := ": the same process"
		if changed {
			what = ": restarted or promoted"
		} else if process == "" { // whether it is the same is unknown
			what = ""
		}
		t.live.Eventf(now, "%s is back after %.1f s%s", m.name, last.Seconds, what)
	case err == nil && changed: // between two looks
		clock := at.Format(outageTime)
		m.outages = append(m.outages, outage{Server: m.name, From: clock, To: clock, Changed: true, Reason: "another process answers"})
		t.live.Eventf(at, "%s is another process now: restarted or promoted", m.name)
	}
}

// ask returns the server's run_id, or "" where it does not report that.
func (t *trial) ask(ctx context.Context, m *master) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	there, err := m.client.Exists(ctx, t.keys[0]) // on a cluster the namespace's own primary is asked
	if err != nil {
		return "", err
	}
	// One that lost everything, as a server without persistence does, gets its prefix back. Without it none of several
	// servers may issue an identifier, and the trial would end.
	if !there && !m.adds.IsZero() && m.admin.TrustSettings().SetServerPrefix(ctx, m.adds) == nil {
		t.live.Eventf(time.Now(), "%s lost its prefix and all other data; the prefix is set again", m.name)
	}
	if m.target.IsCluster() { // any node may answer
		return "", nil
	}
	info, _ := m.client.Info(ctx, "server") // empty where it does not permit this or is down, which the next look finds
	return info["run_id"], nil
}
