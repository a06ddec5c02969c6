package admin

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator/admin/info"
	"github.com/hilo-id/hilo/allocator/internal/failure"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

var (
	// ErrNotDurableServer means that a server's settings or replicas contradict prefix.Server.Durable. The text states what
	// to change.
	ErrNotDurableServer = errors.New("the server does not keep writes as Durable states")
	// ErrSettingsUnknown means that this user may not read whether a server's settings agree with prefix.Server.Durable. The
	// text states what could not be read.
	ErrSettingsUnknown = errors.New("settings could not be seen")
)

// TrustSettings returns an Admin whose SetServerPrefix sets Durable even if settings could not be read. Those that can be read
// have to agree all the same.
func (m *Admin) TrustSettings() *Admin { return m.with(func(other *Admin) { other.trusting = true }) }

// CheckDurable returns nil if the server may state prefix.DurableAlways, as far as it can be checked. The server has to be a
// primary without replicas that writes an AOF with appendfsync always, also during rewrites, and its last write and rewrite
// have to have succeeded. That its data is nowhere else, and that it is started from its own newest files only, cannot be
// checked. A node of a cluster may not. The errors are ErrNotDurableServer, ErrSettingsUnknown and ErrUnavailable.
func (m *Admin) CheckDurable(ctx context.Context) error {
	_, _, err := m.durability(ctx)
	return err
}

// awaitDurable is CheckDurable, waits while the AOF is being rewritten, and returns the replication id. Until a first AOF
// is complete a restart would load an older one, or none.
func (m *Admin) awaitDurable(ctx context.Context) (origin string, err error) {
	const step = 20 * time.Millisecond
	for end := time.Now().Add(m.timeout); ; {
		origin, rewriting, err := m.durability(ctx)
		if err != nil && (!errors.Is(err, ErrSettingsUnknown) || !m.trusting) {
			return "", err
		}
		if !rewriting {
			return origin, nil
		}
		if !time.Now().Before(end) {
			return "", fmt.Errorf("admin: %w: its AOF was being rewritten for %v; try again when that is complete", ErrNotDurableServer, m.timeout)
		}
		select {
		case <-time.After(step):
		case <-ctx.Done():
			return "", attemptError(ctx, m.keys.Server(), ctx.Err())
		}
	}
}

// durableSettings are the settings that CONFIG GET has to return.
var durableSettings = []struct{ name, want string }{{"appendfsync", "always"}, {"appendonly", "yes"}, {"no-appendfsync-on-rewrite", "no"}}

// durability is CheckDurable, and returns the server's replication id and whether its AOF is being rewritten.
func (m *Admin) durability(ctx context.Context) (origin string, rewriting bool, err error) {
	node, err := m.node(ctx)
	if err != nil {
		return "", false, attemptError(ctx, m.keys.Server(), err)
	}
	var wrong, unseen []string
	off := false // as CONFIG shows, so that INFO adds nothing
	for _, setting := range durableSettings {
		got, err := node.ConfigGet(ctx, setting.name).Result()
		_, answered := errors.AsType[redis.Error](err)
		switch value := got[setting.name]; {
		case answered || err == nil && value == "":
			unseen = append(unseen, setting.name)
		case err != nil:
			return "", false, attemptError(ctx, m.keys.Server(), err)
		case value != setting.want:
			off = off || setting.name == "appendonly"
			wrong = append(wrong, fmt.Sprintf("%s is %s: CONFIG SET %[1]s %[3]s, also in its configuration file", setting.name, value, setting.want))
		}
	}
	seen := make(map[string]map[string]string)                                  // the fields of each section
	for _, section := range []string{"replication", "persistence", "cluster"} { // one for each call, since two fail before Redis 7.0
		text, err := node.Info(ctx, section).Result()
		switch _, answered := errors.AsType[redis.Error](err); {
		case err == nil:
			seen[section] = info.Fields(text)
		case !answered:
			return "", false, attemptError(ctx, m.keys.Server(), err)
		case section != "cluster": // a server without that section is no node of one
			unseen = append(unseen, "INFO "+section)
		}
	}
	replicating, persistence := seen["replication"], seen["persistence"]
	for _, field := range []struct {
		section           map[string]string
		name, want, wrong string
	}{
		{replicating, "role", "master", "it is a replica: name its primary"},
		{replicating, "connected_slaves", "0", "a replica is connected, and may be promoted without the newest writes: detach it, or do without Durable"},
		{persistence, "aof_enabled", "1", "its AOF is off: CONFIG SET appendonly yes, also in its configuration file"},
		{persistence, "aof_last_write_status", "ok", "it could not write its AOF: see to its disk and its log"},
		{persistence, "aof_last_bgrewrite_status", "ok", "it could not rewrite its AOF: see to its disk and its log"},
	} {
		if field.section == nil {
			continue
		}
		switch field.section[field.name] {
		case field.want:
		case "":
			unseen = append(unseen, field.name)
		default:
			if field.name != "aof_enabled" || !off {
				wrong = append(wrong, field.wrong)
			}
		}
	}
	if seen["cluster"]["cluster_enabled"] == "1" {
		wrong = append(wrong, "it is a node of a cluster, where a slot takes the field to a server that may not keep every write: do without Durable")
	}
	origin = replicating["master_replid"]
	rewriting = persistence["aof_rewrite_in_progress"] == "1" || persistence["aof_rewrite_scheduled"] == "1"
	switch {
	case len(wrong) > 0:
		err = fmt.Errorf("admin: %w: %s", ErrNotDurableServer, strings.Join(wrong, "; "))
	case len(unseen) > 0:
		err = fmt.Errorf("admin: %w: %s", ErrSettingsUnknown, strings.Join(unseen, ", "))
	}
	return origin, rewriting, err
}

// settle makes each counter whose Origin is another replication id jump past numbers that may be lost, by one gap and without
// the offset, within the interval of s and the limit. A counter without room for that is raised to the limit and issues nothing
// more, because under Durable nothing else would keep it from issuing what was lost.
func (m *Admin) settle(ctx context.Context, origin string, s prefix.Server) error {
	var old []State
	for state, err := range m.States(ctx) {
		if err != nil {
			return err
		}
		if state.Origin != "" && state.Origin != origin {
			old = append(old, state)
		}
	}
	_, highest := s.Interval()
	for i := range old {
		if err := m.settleOne(ctx, &old[i], min(highest, cmp.Or(m.limit, math.MaxInt64))); err != nil {
			return fmt.Errorf("admin: Durable needs every counter to jump past what may be lost: %w",
				failure.Attempt(string(old[i].Kind)+" "+old[i].Name, err))
		}
	}
	return nil
}

func (m *Admin) settleOne(ctx context.Context, state *State, limit int64) error {
	if state.Kind == KindServerSide {
		limit = min(limit, prefix.MaxServerSide)
	}
	keys := m.storage(state.Kind).keys(state.Name)
	// An epoch that the counter has not reached is evidence for which it jumps by the full gap, also under replicas:N.
	epoch := state.Epoch + 1
	jump := func(limit int64) (err error) {
		token := crand.Text()
		if state.Kind == KindHiLo {
			_, err = scripts.Next(ctx, m.client, keys, scripts.NextRequest{
				Token: token, Name: state.Name, Capacity: 1, Limit: limit, Epoch: epoch, Awaited: notUsed,
			})
			return err
		}
		_, err = scripts.Identity(ctx, m.client, keys, scripts.IdentityRequest{
			Token: token, Name: state.Name, Count: 1, Limit: limit, Epoch: epoch, Awaited: notUsed, Anywhere: true,
		})
		return err
	}
	state.Lost = true
	err := jump(min(state.raised(), limit-1) + 1) // a limit right above the gap leaves no room for the offset
	if errors.Is(err, scripts.ErrExhausted) {     // the gap ends higher, because of a bare number of the name, or of ranges since
		err = jump(limit)
	}
	if !errors.Is(err, scripts.ErrExhausted) {
		return err
	}
	m.full(state.Kind, state.Name, limit)
	if state.Max >= limit {
		return nil
	}
	return scripts.Import(ctx, m.client, scripts.ImportRequest{
		Keys: keys, Field: m.storage(state.Kind).field, Name: state.Name, Value: limit, Epoch: epoch,
	}).Err
}

// notUsed is the number of replicas that a request waits for whose number is not used. It is as many as any server may
// require.
const notUsed = 999

// stateDurable writes Durable. The script refuses that if a replica is connected, or if the replication id is not the one
// under which all counters were settled. stateDurable waits until the AOF has the write, where the server can report that.
func (m *Admin) stateDurable(ctx context.Context, request scripts.ConfigureRequest) error {
	key := m.keys.Server()
	client := scripts.Durable(m.client, scripts.Durability{Fsync: true, Timeout: m.waitTimeout()})
	err := scripts.Configure(ctx, client, key, request)
	switch {
	case err == nil || errors.Is(err, scripts.ErrNotDurable) && strings.Contains(err.Error(), "has no WAITAOF"): // before Redis 7.2
		return nil
	case errors.Is(err, scripts.ErrNotDurable):
		return fmt.Errorf("admin: %s: %w: %s", key, ErrNotConfirmed, strings.TrimPrefix(err.Error(), scripts.ErrNotDurable.Error()+": "))
	}
	return attemptError(ctx, key, err)
}
