package allocator

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// Admin is for operators and their tools: it reads and seeds counters and sets
// the server's prefix. It is safe for concurrent use, also beside running
// allocators; no Allocator uses it.
type Admin struct {
	client redis.UniversalClient
	keys   prefix.Keys
}

// Counter is what stands in Redis about one collection.
type Counter struct {
	Name   string // the spelling first used
	Max    int64  // the greatest number that any client was given
	Ranges int64  // handed out so far
	Epoch  int64  // times the counter jumped on evidence of lost writes
	Origin string // replication id of the server that gave the newest range; "": unknown
}

// NewAdmin makes an Admin for one namespace, "" meaning the default. It does no
// I/O. Errors: ErrInvalidOptions.
func NewAdmin(client redis.UniversalClient, namespace string) (*Admin, error) {
	if client == nil {
		return nil, fmt.Errorf("allocator: %w: client is nil", ErrInvalidOptions)
	}
	opts, err := Options{Namespace: namespace}.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("allocator: %w", err)
	}
	return &Admin{client: client, keys: prefix.NewKeys(opts.Namespace)}, nil
}

// scanCount is how many keys the server looks at per step of a scan.
const scanCount = 1000

// Counters gives every counter of the namespace, in no order. It scans, so it
// neither blocks the server nor is a snapshot; one that is added or removed
// meanwhile may be missed. After an error about one counter it goes on; any
// other error is the last thing it gives.
func (m *Admin) Counters(ctx context.Context) iter.Seq2[Counter, error] {
	return func(yield func(Counter, error) bool) {
		client, err := m.primary(ctx)
		if err != nil {
			yield(Counter{}, fmt.Errorf("allocator: %w", attemptError("counters", err)))
			return
		}
		seen := make(map[string]bool) // SCAN may give a key twice
		pattern := escapeGlob(m.keys.HiLoPrefix()) + "*"
		var cursor uint64
		for {
			keys, next, err := client.Scan(ctx, cursor, pattern, scanCount).Result()
			if err != nil {
				yield(Counter{}, fmt.Errorf("allocator: %w", attemptError("counters", err)))
				return
			}
			fresh := keys[:0]
			for _, key := range keys {
				if !seen[key] {
					seen[key] = true
					fresh = append(fresh, key)
				}
			}
			if !m.page(ctx, client, fresh, yield) {
				return
			}
			if cursor = next; cursor == 0 {
				return
			}
		}
	}
}

// page reads the counters under some keys in one round trip.
func (m *Admin) page(ctx context.Context, client redis.Cmdable, keys []string, yield func(Counter, error) bool) bool {
	reads := make([]*redis.SliceCmd, len(keys))
	_, _ = client.Pipelined(ctx, func(p redis.Pipeliner) error { // each command has its own error
		for i, key := range keys {
			reads[i] = readCounter(ctx, p, key)
		}
		return nil
	})
	for i, read := range reads {
		counter, err := m.counter(keys[i], read)
		if errors.Is(err, ErrNotSeeded) { // removed since it was scanned
			continue
		}
		if !yield(counter, err) {
			return false
		}
	}
	return true
}

// Counter gives one counter. Errors: ErrNotSeeded when there is none,
// ErrInvalidName, ErrCorrupt, ErrUnavailable.
func (m *Admin) Counter(ctx context.Context, collection string) (Counter, error) {
	if err := validName(collection); err != nil {
		return Counter{}, err
	}
	key := m.keys.HiLo(collection)
	return m.counter(key, readCounter(ctx, m.client, key))
}

func readCounter(ctx context.Context, client redis.Cmdable, key string) *redis.SliceCmd {
	return client.HMGet(ctx, key, "Max", "Ranges", "Epoch", "Origin", "Name")
}

// counter reads what stands under a key, as strictly as the scripts do.
func (m *Admin) counter(key string, read *redis.SliceCmd) (Counter, error) {
	values, err := read.Result()
	if redis.HasErrorPrefix(err, "WRONGTYPE") {
		return Counter{}, fmt.Errorf("allocator: %w: key %s is not a hash", ErrCorrupt, key)
	}
	if err != nil {
		return Counter{}, fmt.Errorf("allocator: %w", attemptError(key, err))
	}
	text := func(i int) string {
		s, _ := values[i].(string)
		return s
	}
	counter := Counter{Origin: text(3), Name: text(4)}
	if counter.Name == "" {
		counter.Name = strings.TrimPrefix(key, m.keys.HiLoPrefix())
	}
	for i, field := range []struct {
		name  string
		value *int64
	}{{"Max", &counter.Max}, {"Ranges", &counter.Ranges}, {"Epoch", &counter.Epoch}} {
		if values[i] == nil {
			continue
		}
		n, err := strconv.ParseInt(text(i), 10, 64)
		if err != nil || n < 0 || strconv.FormatInt(n, 10) != text(i) {
			return Counter{}, fmt.Errorf("allocator: %w: key %s field %s holds %q: must be a decimal from 0 to 9223372036854775807 without sign or leading zeros",
				ErrCorrupt, key, field.name, text(i))
		}
		*field.value = n
	}
	if values[0] == nil {
		return Counter{}, fmt.Errorf("allocator: %w: key %s has no Max", ErrNotSeeded, key)
	}
	return counter, nil
}

// Seed raises a counter to max, 0 or more, and adds it where there is none;
// with force it sets it, also lower. It gives what stands afterwards. A range
// that is still out can no longer be returned below the seed. Forcing a counter
// below numbers in use gives them out again, except to clients that still run
// and know better. Errors: ErrInvalidName, ErrInvalidOptions, ErrMixed,
// ErrCorrupt, ErrUnavailable.
func (m *Admin) Seed(ctx context.Context, collection string, max int64, force bool) (int64, error) {
	if err := validName(collection); err != nil {
		return 0, err
	}
	if max < 0 {
		return 0, fmt.Errorf("allocator: %s: %w: seed of %d: must be 0 or more", collection, ErrInvalidOptions, max)
	}
	keys := scripts.Keys{
		Counter: m.keys.HiLo(collection),
		Server:  m.keys.Server(),
		Other:   m.keys.Identity(collection),
	}
	stands, err := scripts.Seed(ctx, m.client, keys, scripts.SeedRequest{
		Field: scripts.FieldMax, Name: collection, Value: max, Force: force,
	})
	if err != nil {
		return 0, fmt.Errorf("allocator: %w", attemptError(collection, err))
	}
	return stands, nil
}

const (
	fieldPrefix = "ServerPrefix"
	fieldTag    = "NodeTag"
)

// ServerPrefix gives what the server adds to each identifier; zero where it
// adds nothing. Errors: ErrCorrupt, ErrUnavailable.
func (m *Admin) ServerPrefix(ctx context.Context) (prefix.Server, error) {
	key := m.keys.Server()
	values, err := m.client.HMGet(ctx, key, fieldPrefix, fieldTag).Result()
	if redis.HasErrorPrefix(err, "WRONGTYPE") {
		return prefix.Server{}, fmt.Errorf("allocator: %w: key %s is not a hash", ErrCorrupt, key)
	}
	if err != nil {
		return prefix.Server{}, fmt.Errorf("allocator: %w", attemptError(key, err))
	}
	var s prefix.Server
	s.ServerPrefix, _ = values[0].(string)
	s.NodeTag, _ = values[1].(string)
	if err := s.Validate(); err != nil {
		return prefix.Server{}, fmt.Errorf("allocator: %w: key %s: %w", ErrCorrupt, key, err)
	}
	return s, nil
}

// SetServerPrefix sets both parts at once; an empty one is removed. Ranges
// already handed out keep what they were given with. Errors: ErrInvalidName,
// ErrCorrupt, ErrUnavailable.
func (m *Admin) SetServerPrefix(ctx context.Context, s prefix.Server) error {
	if err := s.Validate(); err != nil {
		return fmt.Errorf("allocator: %w", err)
	}
	key := m.keys.Server()
	_, err := m.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		for field, value := range map[string]string{fieldPrefix: s.ServerPrefix, fieldTag: s.NodeTag} {
			if value == "" {
				p.HDel(ctx, key, field)
			} else {
				p.HSet(ctx, key, field, value)
			}
		}
		return nil
	})
	if redis.HasErrorPrefix(err, "WRONGTYPE") {
		return fmt.Errorf("allocator: %w: key %s is not a hash", ErrCorrupt, key)
	}
	if err != nil {
		return fmt.Errorf("allocator: %w", attemptError(key, err))
	}
	return nil
}

// primary is the node that holds the namespace: its keys share one slot.
func (m *Admin) primary(ctx context.Context) (redis.Cmdable, error) {
	if cluster, ok := m.client.(*redis.ClusterClient); ok {
		return cluster.MasterForKey(ctx, m.keys.Server())
	}
	return m.client, nil
}

// validName checks a collection for which no separator is known. The separator
// is the allocator's affair; the default one is never part of a name.
func validName(collection string) error {
	if err := prefix.ValidateCollection(collection, prefix.DefaultSeparator); err != nil {
		return fmt.Errorf("allocator: %w", err)
	}
	return nil
}

// escapeGlob has a pattern match text as it stands.
func escapeGlob(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(text)
}
