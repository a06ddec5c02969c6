package admin

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/allocator/internal/failure"
	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// ErrIncomplete means that a scan may lack keys, because a cluster is moving the hash slot of the namespace, whose keys are on
// two nodes until the move ends, or because the server was restarted or replaced meanwhile. The error matches
// allocator.ErrUnavailable too, since the same call succeeds later.
var ErrIncomplete = errors.New("incomplete scan")

// scanCount is the number of keys that the server examines in each step of a scan.
const scanCount = 1000

// holder is the server that holds every key of the namespace. If state is the same before and after a scan, the scan missed
// no keys.
type holder struct {
	client redis.Cmdable
	state  string
}

// scan calls page with the keys that match a pattern, a page at a time and each once, and with the client of their server, until
// it returns false. With an error the pages may lack keys.
//
// SCAN asks one server process and returns every key that is there from its first step to its last. So a scan is complete if
// one process held all keys of the namespace throughout. The method holder establishes that, before the first step and again
// after the last one, for these reasons.
//
//   - A cursor means nothing to another process, because each hashes keys with a seed of its own. A client that
//     reconnects may reach another one, after a restart or a failover, but its replication id differs.
//   - All keys of the namespace are in one slot of a cluster. While a slot moves, its source is migrating or its target
//     is importing, and both report it. If the source fails over, its successor may not report it, but the target
//     still does, so every primary is asked.
//   - A slot that moved away and came back between the two checks was imported by its owner, which raised the owner's
//     config epoch.
func (m *Admin) scan(ctx context.Context, pattern string, page func(client redis.Cmdable, keys []string) bool) error {
	before, err := m.holder(ctx)
	if err != nil {
		return err
	}
	seen := make(map[string]bool) // SCAN may return a key twice
	for cursor := uint64(0); ; {
		keys, next, err := before.client.Scan(ctx, cursor, pattern, scanCount).Result()
		if err != nil {
			return err
		}
		fresh := slices.DeleteFunc(keys, func(key string) bool {
			again := seen[key]
			seen[key] = true
			return again
		})
		if !page(before.client, fresh) {
			return nil
		}
		if cursor = next; cursor == 0 {
			break
		}
	}
	after, err := m.holder(ctx)
	if err == nil && after.state != before.state {
		err = fmt.Errorf("%w: the server was restarted or replaced during the scan; try again", ErrIncomplete)
	}
	return err
}

// Keys returns all keys of the namespace, a page at a time and each once, for tools that examine them. Its last item has
// the error, if any, one of those of Counters except ErrCorrupt.
func (m *Admin) Keys(ctx context.Context) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		pattern := m.everyKey()
		if err := m.scan(ctx, pattern, func(_ redis.Cmdable, keys []string) bool { return yield(keys, nil) }); err != nil {
			yield(nil, attemptError(ctx, pattern, err))
		}
	}
}

// holder finds the server that holds every key of the namespace, or returns ErrIncomplete. ErrInvalidOptions is for a client
// that may reach a node of a cluster and is no *redis.ClusterClient, because SCAN would go to any node, and the nodes
// between which a slot moves could not be found.
func (m *Admin) holder(ctx context.Context) (holder, error) {
	// Unlike SCAN this is refused by a node that does not hold the key.
	if err := m.client.HMGet(ctx, m.keys.Server(), scripts.SettingsFields[atPrefix]).Err(); err != nil && !redis.HasErrorPrefix(err, "WRONGTYPE") {
		return holder{}, err
	}
	if cluster, ok := m.client.(*redis.ClusterClient); ok {
		return clusterHolder(ctx, cluster, m.keys.Server())
	}
	if isCluster(ctx, m.client) {
		return holder{}, fmt.Errorf("%w: a %T cannot scan a cluster: use a *redis.ClusterClient (redis+cluster://HOST)",
			failure.ErrInvalidOptions, m.client)
	}
	now, err := readReplication(ctx, m.client)
	return holder{m.client, now.id}, err
}

func clusterHolder(ctx context.Context, cluster *redis.ClusterClient, key string) (holder, error) {
	slot, err := cluster.ClusterKeySlot(ctx, key).Result()
	if err != nil {
		return holder{}, err
	}
	var mu sync.Mutex // ForEachMaster calls from many goroutines
	var owners []holder
	err = cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		text, err := node.ClusterNodes(ctx).Result()
		if err != nil {
			return err
		}
		state, owns, err := parseNode(text, slot)
		if err != nil || !owns {
			return err
		}
		now, err := readReplication(ctx, node)
		mu.Lock()
		defer mu.Unlock()
		owners = append(owners, holder{node, state + " " + now.id})
		return err
	})
	if err == nil && len(owners) != 1 { // the end of a move has not reached all nodes yet
		err = fmt.Errorf("%w: %d nodes own slot %d; try again", ErrIncomplete, len(owners), slot)
	}
	if err != nil {
		return holder{}, err
	}
	return owners[0], nil
}

// parseNode reads the line of CLUSTER NODES that a node writes about itself,
//
//	id address flags primary ping pong epoch link slot first-last [slot->-id] [slot-<-id]
//
// and returns its id and epoch, and whether it owns the slot. The last two are slots that the node is migrating and importing,
// which only its own line has. If the slot is one of them, the error is ErrIncomplete.
func parseNode(text string, slot int64) (state string, owns bool, err error) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 8 || !strings.Contains(fields[2], "myself") {
			continue
		}
		for _, slots := range fields[8:] {
			if open, isOpen := strings.CutPrefix(slots, "["); isOpen {
				if number, _, _ := strings.Cut(open, "-"); number == strconv.FormatInt(slot, 10) {
					return "", false, fmt.Errorf("%w: slot %d is migrating or importing at %s (%s); try again when the move is complete",
						ErrIncomplete, slot, fields[1], slots)
				}
				continue
			}
			first, last, isRange := strings.Cut(slots, "-")
			if !isRange {
				last = first
			}
			low, err1 := strconv.ParseInt(first, 10, 64)
			high, err2 := strconv.ParseInt(last, 10, 64)
			owns = owns || err1 == nil && err2 == nil && low <= slot && slot <= high
		}
		return fields[0] + " " + fields[6], owns, nil
	}
	return "", false, fmt.Errorf("%w: CLUSTER NODES has no line of the node itself", scripts.ErrReply)
}

// everyKey is the glob of all keys of the namespace.
func (m *Admin) everyKey() string {
	return prefix.EscapeGlob(strings.TrimSuffix(m.keys.HiLoPrefix(), "HiLo/")) + "*"
}
