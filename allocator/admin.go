package allocator

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// Admin is for operators and their tools: it reads and seeds counters and identities and sets the server's prefix. It
// is safe for concurrent use, also beside running allocators; no Allocator uses it.
type Admin struct {
	client    redis.UniversalClient
	keys      prefix.Keys
	separator string
	// server is the key of the server's prefix, for scripts.
	server string
	// filter is the glob that names have to match for Counters and Identities to give them.
	filter string
	// filling says that SetServerPrefix comes last, after ForPrefix.
	filling bool
}

// Counter is what stands in Redis about one collection or identity.
type Counter struct {
	// Name is the spelling first used.
	Name string
	// Max is the greatest number that any client was given, of an identity its Value.
	Max int64
	// Ranges is how many were handed out so far, of an identity 0.
	Ranges int64
	// Epoch is how often the counter jumped on evidence of lost writes.
	Epoch int64
	// Origin is the replication id of the server that wrote last, "" where it is not known.
	Origin string
}

// NewAdmin makes an Admin for one namespace, "" meaning the default. It does no I/O. Errors: ErrInvalidOptions.
func NewAdmin(client redis.UniversalClient, namespace string) (*Admin, error) {
	if err := usable(client, Durability{}); err != nil {
		return nil, fmt.Errorf("allocator: %w", err)
	}
	opts, err := Options{Namespace: namespace}.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("allocator: %w", err)
	}
	keys := prefix.NewKeys(opts.Namespace)
	return &Admin{client: client, keys: keys, separator: opts.Separator, server: keys.Server(), filter: "*"}, nil
}

// WithSeparator is m for allocators with another separator than "/", which decides what may stand in a name. Errors:
// ErrInvalidOptions.
func (m *Admin) WithSeparator(separator string) (*Admin, error) {
	opts, err := Options{Separator: separator}.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("allocator: %w", err)
	}
	other := *m
	other.separator = opts.Separator
	return &other, nil
}

// WithFilter is m with Counters and Identities that give the names only that match glob as Redis has it, "*", "?" and
// "[a-z]", whatever their letter case.
func (m *Admin) WithFilter(glob string) *Admin {
	other := *m
	other.filter = prefix.Fold(glob)
	return &other
}

// Counter gives one counter. Errors: ErrNotSeeded when there is none, ErrInvalidName, ErrCorrupt, ErrUnavailable.
func (m *Admin) Counter(ctx context.Context, collection string) (Counter, error) {
	if err := m.validName(collection); err != nil {
		return Counter{}, err
	}
	return m.one(ctx, KindHiLo, collection)
}

// Identity is Counter for an identity. A trailing "|" of the name is optional.
func (m *Admin) Identity(ctx context.Context, name string) (Counter, error) {
	name = strings.TrimSuffix(name, "|")
	if err := m.validName(name); err != nil {
		return Counter{}, err
	}
	return m.one(ctx, KindIdentity, name)
}

// ServerSide is Counter for the one counter of server-side identifiers.
func (m *Admin) ServerSide(ctx context.Context) (Counter, error) {
	return m.one(ctx, KindServerSide, "")
}

func (m *Admin) one(ctx context.Context, k Kind, name string) (Counter, error) {
	as := m.storage(k)
	state, err := as.counter(ctx, as.key(name), as.read(ctx, m.client, as.key(name)))
	return state.Counter, err
}

func (s storage) read(ctx context.Context, client redis.Cmdable, key string) *redis.SliceCmd {
	return client.HMGet(ctx, key, append([]string{"Name", "Origin", "Lease", s.field}, bookkeeping...)...)
}

// bookkeeping are the other fields that hold a number: all that a script would refuse a counter for, if it held
// anything else.
var bookkeeping = []string{"Ranges", "Epoch", fieldBare, "Low", "Lowered", "Minute", "Issued", "IssuedBefore", "Written"}

// counter is what stands under a key; ErrNotSeeded where nothing does.
func (s storage) counter(ctx context.Context, key string, read *redis.SliceCmd) (State, error) {
	counter, found, err := s.find(ctx, key, read)
	switch {
	case err != nil || found:
		return counter, err
	case slices.ContainsFunc(read.Val()[1:], func(v any) bool { return v != nil && v != "" }):
		return State{}, fmt.Errorf("allocator: %w: key %s has no %s, yet numbers were given out; seed it above all that was issued",
			ErrCorrupt, key, s.field)
	}
	return State{}, fmt.Errorf("allocator: %w: key %s has no %s", ErrNotSeeded, key, s.field)
}

// find reads what stands under a key, as strictly as the scripts do.
func (s storage) find(ctx context.Context, key string, read *redis.SliceCmd) (counter State, found bool, err error) {
	values, err := read.Result()
	if redis.HasErrorPrefix(err, "WRONGTYPE") {
		return State{}, false, fmt.Errorf("allocator: %w: key %s is not a hash", ErrCorrupt, key)
	}
	if err != nil {
		return State{}, false, adminError(ctx, key, err)
	}
	text := func(i int) string {
		t, _ := values[i].(string)
		return t
	}
	counter = State{Kind: s.kind, Counter: Counter{Name: text(0), Origin: text(1)}}
	if name := strings.TrimPrefix(key, s.prefix); name != "" && prefix.Fold(counter.Name) != name {
		counter.Name = name // there is none, or it was written by hand and leads to another key
	}
	numbers := make([]int64, 1+len(bookkeeping))
	for i, field := range append([]string{s.field}, bookkeeping...) {
		if values[3+i] == nil {
			continue
		}
		n, err := strconv.ParseInt(text(3+i), 10, 64)
		if err != nil || n < 0 || strconv.FormatInt(n, 10) != text(3+i) {
			return State{}, false, fmt.Errorf("allocator: %w: key %s field %s holds %.40q: must be a decimal from 0 to 9223372036854775807 without sign or leading zeros",
				ErrCorrupt, key, field, text(3+i))
		}
		numbers[i] = n
	}
	counter.Max, counter.Ranges, counter.Epoch, counter.Bare = numbers[0], numbers[1], numbers[2], numbers[3]
	return counter, values[3] != nil, nil
}

// Seed raises a counter to max, 0 or more, and adds it where there is none; with force it sets it, also lower. It gives
// what stands afterwards. A range that is still out can no longer be returned below the seed. Forcing a counter below
// numbers in use gives them out again, except to clients that still run and know better. It acts once, also where the
// client library sends it again after a lost reply: where numbers were given since it looked what stands, the error is
// ErrChanged and says what stands now. Errors: ErrInvalidName, ErrInvalidOptions, ErrMixed, ErrCorrupt, ErrUnavailable.
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
		return 0, fmt.Errorf("allocator: %s: %w: seed of %d: must be 0 or more", name, ErrInvalidOptions, value)
	}
	request := scripts.SeedRequest{Field: s.field, Name: name, Value: value, Force: force}
	if force {
		var err error
		if request.Expected, err = scripts.Stands(ctx, m.client, s.key(name), s.field); err != nil {
			return 0, adminError(ctx, name, err)
		}
	}
	stands, err := scripts.Seed(ctx, m.client, s.keys(name), request)
	if err != nil {
		return 0, adminError(ctx, name, err)
	}
	return stands, nil
}

func (m *Admin) validName(name string) error {
	if err := prefix.ValidateCollection(name, m.separator); err != nil {
		return fmt.Errorf("allocator: %w", err)
	}
	return nil
}

// Kind is what a counter counts.
type Kind string

// The kinds of counters, under the names that files and flags have for them.
const (
	// KindHiLo is the counter of a collection, from which ranges are taken.
	KindHiLo Kind = "hilo"
	// KindIdentity is an identity, which counts one by one.
	KindIdentity Kind = "identity"
	// KindServerSide is the counter of all server-side identifiers, one for each namespace.
	KindServerSide Kind = "server-side"
)

// fieldBare holds State.Bare.
const fieldBare = "Bare"

// storage is how the counters of a kind stand in Redis.
//
// field is the one that counts. key names the counter of a name, and other the key of the same name and the other kind,
// nil where there is none. server is the key of the server's prefix, and prefix what all keys of the kind begin with.
type storage struct {
	kind   Kind
	field  string
	key    func(name string) string
	other  func(name string) string
	server string
	prefix string
}

func (m *Admin) storage(k Kind) storage {
	s := storage{kind: k, server: m.server}
	switch k {
	case KindHiLo:
		s.field, s.key, s.other, s.prefix = scripts.FieldMax, m.keys.HiLo, m.keys.Identity, m.keys.HiLoPrefix()
	case KindIdentity:
		s.field, s.key, s.other, s.prefix = scripts.FieldValue, m.keys.Identity, m.keys.HiLo, m.keys.IdentityPrefix()
	case KindServerSide:
		s.field, s.key, s.prefix = scripts.FieldValue, func(string) string { return m.keys.ServerSide() }, m.keys.ServerSide()
	default:
		panic("bug: a counter of no kind")
	}
	return s
}

// keys are those that a script on the counter of a name names.
func (s storage) keys(name string) scripts.Keys {
	if s.other == nil {
		return scripts.Keys{Counter: s.key(name), Server: s.server, Other: s.server}
	}
	return scripts.Keys{Counter: s.key(name), Server: s.server, Other: s.other(name)}
}
