package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator/admin/info"
	"github.com/hilo-id/hilo/prefix"
)

var (
	// ErrNotDurableServer means that a server's settings or replicas contradict prefix.Server.Durable. The text states what
	// to change.
	ErrNotDurableServer = errors.New("the server does not keep writes as Durable states")
	// ErrSettingsUnknown is the ErrNeedsTrust of a user that may not read whether a server's settings agree with
	// prefix.Server.Durable. The text states what could not be read.
	ErrSettingsUnknown = fmt.Errorf("%w: settings could not be seen", ErrNeedsTrust)
)

// CheckDurable returns nil if the server may state a value of prefix.Server.Durable, as far as it can be checked. The server has to be
// a primary without replicas that writes an append-only file and syncs it at least so often, also during rewrites, and its last
// write and rewrite have to have succeeded. That its data is nowhere else, and that it is started from its own newest files only,
// cannot be checked. A node of a cluster may not. The errors are ErrNotDurableServer, ErrSettingsUnknown and ErrUnavailable.
func (m *Admin) CheckDurable(ctx context.Context, durable string) error {
	node, err := m.node(ctx)
	if err != nil {
		return attemptError(ctx, m.keys.Server(), err)
	}
	syncs := []string{prefix.DurableAlways}
	if durable == prefix.DurableEverysec {
		syncs = []string{prefix.DurableEverysec, prefix.DurableAlways}
	}
	var wrong, unseen []string
	off := false // as CONFIG shows, so that INFO adds nothing
	for _, setting := range []struct {
		name string
		want []string
	}{{"appendfsync", syncs}, {"appendonly", []string{"yes"}}, {"no-appendfsync-on-rewrite", []string{"no"}}} {
		got, err := node.ConfigGet(ctx, setting.name).Result()
		_, answered := errors.AsType[redis.Error](err)
		switch value := got[setting.name]; {
		case answered || err == nil && value == "":
			unseen = append(unseen, setting.name)
		case err != nil:
			return attemptError(ctx, m.keys.Server(), err)
		case !slices.Contains(setting.want, value):
			off = off || setting.name == "appendonly"
			wrong = append(wrong, fmt.Sprintf("%s is %s: CONFIG SET %[1]s %[3]s, also in its configuration file", setting.name, value, setting.want[0]))
		}
	}
	var seen map[string]string
	text, err := node.Info(ctx).Result()
	switch _, answered := errors.AsType[redis.Error](err); {
	case err == nil:
		seen = info.Fields(text)
	case !answered:
		return attemptError(ctx, m.keys.Server(), err)
	default:
		unseen = append(unseen, "INFO")
	}
	if seen["connected_slaves"] != "" {
		seen["connected_slaves"] = strconv.Itoa(countReplicas(seen))
	}
	for _, field := range []struct{ name, want, wrong string }{
		{"role", "master", "it is a replica: name its primary"},
		{"connected_slaves", "0", "a replica is connected, and may be promoted without the newest writes: detach it, or do without Durable"},
		{"aof_enabled", "1", "its append-only file is off: CONFIG SET appendonly yes, also in its configuration file"},
		{"aof_last_write_status", "ok", "it could not write its append-only file: see to its disk and its log"},
		{"aof_last_bgrewrite_status", "ok", "it could not rewrite its append-only file: see to its disk and its log"},
	} {
		switch value := seen[field.name]; {
		case value == field.want || seen == nil:
		case value == "":
			unseen = append(unseen, field.name)
		case field.name != "aof_enabled" || !off:
			wrong = append(wrong, field.wrong)
		}
	}
	if seen["cluster_enabled"] == "1" {
		wrong = append(wrong, "it is a node of a cluster, where a slot takes the field to a server that may not keep every write: do without Durable")
	}
	switch {
	case len(wrong) > 0:
		return fmt.Errorf("admin: %w: %s", ErrNotDurableServer, strings.Join(wrong, "; "))
	case len(unseen) > 0:
		return fmt.Errorf("admin: %w: %s", ErrSettingsUnknown, strings.Join(unseen, ", "))
	}
	return nil
}
