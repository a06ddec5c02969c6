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

// Admin is for operators and their tools: it reads and seeds counters and
// identities and sets the server's prefix. It is safe for concurrent use, also
// beside running allocators; no Allocator uses it.
type Admin struct {
	client    redis.UniversalClient
	keys      prefix.Keys
	separator string
}

// Counter is what stands in Redis about one collection or identity.
type Counter struct {
	Name   string // the spelling first used
	Max    int64  // the greatest number that any client was given; an identity's Value
	Ranges int64  // handed out so far; of an identity 0
	Epoch  int64  // times the counter jumped on evidence of lost writes
	Origin string // replication id of the server that wrote last; "": unknown
}

// kind is one of the two kinds of counters that have names.
type kind struct {
	field      string // that counts
	key, other func(name string) string
	prefix     string // of all keys of the kind
}

func (m *Admin) collections() kind {
	return kind{field: scripts.FieldMax, key: m.keys.HiLo, other: m.keys.Identity, prefix: m.keys.HiLoPrefix()}
}

func (m *Admin) identities() kind {
	return kind{field: scripts.FieldValue, key: m.keys.Identity, other: m.keys.HiLo, prefix: m.keys.IdentityPrefix()}
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
	return &Admin{client: client, keys: prefix.NewKeys(opts.Namespace), separator: opts.Separator}, nil
}

// WithSeparator is m for allocators with another separator than "/", which
// decides what may stand in a name. Errors: ErrInvalidOptions.
func (m *Admin) WithSeparator(separator string) (*Admin, error) {
	opts, err := Options{Separator: separator}.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("allocator: %w", err)
	}
	other := *m
	other.separator = opts.Separator
	return &other, nil
}

// scanCount is how many keys the server looks at per step of a scan.
const scanCount = 1000

// Counters gives every counter of the namespace, in no order. It scans, so it
// neither blocks the server nor is a snapshot; one that is added or removed
// meanwhile may be missed. After an error about one counter it goes on; any
// other error is the last thing it gives.
func (m *Admin) Counters(ctx context.Context) iter.Seq2[Counter, error] {
	return m.all(ctx, m.collections())
}

// Identities is Counters for identities.
func (m *Admin) Identities(ctx context.Context) iter.Seq2[Counter, error] {
	return m.all(ctx, m.identities())
}

func (m *Admin) all(ctx context.Context, k kind) iter.Seq2[Counter, error] {
	return func(yield func(Counter, error) bool) {
		client, err := m.primary(ctx)
		if err != nil {
			yield(Counter{}, adminError(ctx, k.prefix+"*", err))
			return
		}
		seen := make(map[string]bool) // SCAN may give a key twice
		var cursor uint64
		for {
			keys, next, err := client.Scan(ctx, cursor, escapeGlob(k.prefix)+"*", scanCount).Result()
			if err != nil {
				yield(Counter{}, adminError(ctx, k.prefix+"*", err))
				return
			}
			fresh := keys[:0]
			for _, key := range keys {
				if !seen[key] {
					seen[key] = true
					fresh = append(fresh, key)
				}
			}
			if !k.page(ctx, client, fresh, yield) {
				return
			}
			if cursor = next; cursor == 0 {
				return
			}
		}
	}
}

// page reads the counters under some keys in one round trip.
func (k kind) page(ctx context.Context, client redis.Cmdable, keys []string, yield func(Counter, error) bool) bool {
	reads := make([]*redis.SliceCmd, len(keys))
	_, _ = client.Pipelined(ctx, func(p redis.Pipeliner) error { // each command has its own error
		for i, key := range keys {
			reads[i] = k.read(ctx, p, key)
		}
		return nil
	})
	for i, read := range reads {
		counter, err := k.counter(ctx, keys[i], read)
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
	if err := m.validName(collection); err != nil {
		return Counter{}, err
	}
	k := m.collections()
	return k.counter(ctx, k.key(collection), k.read(ctx, m.client, k.key(collection)))
}

func (k kind) read(ctx context.Context, client redis.Cmdable, key string) *redis.SliceCmd {
	return client.HMGet(ctx, key, k.field, "Ranges", "Epoch", "Origin", "Name")
}

// counter reads what stands under a key, as strictly as the scripts do.
func (k kind) counter(ctx context.Context, key string, read *redis.SliceCmd) (Counter, error) {
	values, err := read.Result()
	if redis.HasErrorPrefix(err, "WRONGTYPE") {
		return Counter{}, fmt.Errorf("allocator: %w: key %s is not a hash", ErrCorrupt, key)
	}
	if err != nil {
		return Counter{}, adminError(ctx, key, err)
	}
	text := func(i int) string {
		s, _ := values[i].(string)
		return s
	}
	counter := Counter{Origin: text(3), Name: text(4)}
	if counter.Name == "" {
		counter.Name = strings.TrimPrefix(key, k.prefix)
	}
	for i, field := range []struct {
		name  string
		value *int64
	}{{k.field, &counter.Max}, {"Ranges", &counter.Ranges}, {"Epoch", &counter.Epoch}} {
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
		return Counter{}, fmt.Errorf("allocator: %w: key %s has no %s", ErrNotSeeded, key, k.field)
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
	return m.seed(ctx, m.collections(), collection, max, force)
}

// SeedIdentity is Seed for an identity, whose next value is the one after. A
// trailing "|" of the name is optional.
func (m *Admin) SeedIdentity(ctx context.Context, name string, value int64, force bool) (int64, error) {
	return m.seed(ctx, m.identities(), strings.TrimSuffix(name, "|"), value, force)
}

func (m *Admin) seed(ctx context.Context, k kind, name string, value int64, force bool) (int64, error) {
	if err := m.validName(name); err != nil {
		return 0, err
	}
	if value < 0 {
		return 0, fmt.Errorf("allocator: %s: %w: seed of %d: must be 0 or more", name, ErrInvalidOptions, value)
	}
	keys := scripts.Keys{Counter: k.key(name), Server: m.keys.Server(), Other: k.other(name)}
	stands, err := scripts.Seed(ctx, m.client, keys, scripts.SeedRequest{Field: k.field, Name: name, Value: value, Force: force})
	if err != nil {
		return 0, adminError(ctx, name, err)
	}
	return stands, nil
}

// primary is the node that holds the namespace: its keys share one slot.
func (m *Admin) primary(ctx context.Context) (redis.Cmdable, error) {
	if cluster, ok := m.client.(*redis.ClusterClient); ok {
		return cluster.MasterForKey(ctx, m.keys.Server())
	}
	return m.client, nil
}

func (m *Admin) validName(name string) error {
	if err := prefix.ValidateCollection(name, m.separator); err != nil {
		return fmt.Errorf("allocator: %w", err)
	}
	return nil
}

// escapeGlob has a pattern match text as it stands.
func escapeGlob(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(text)
}
