package admin

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/hilo-id/hilo/prefix"
	"github.com/hilo-id/hilo/scripts"
)

// Counter is the state in Redis of one collection or identity.
type Counter struct {
	// Name is the spelling first used.
	Name string
	// Max is the greatest number ever issued. For an identity that is its Value.
	Max int64
	// Ceiling is the number up to which the counter reserved ahead: nothing above it is in use. At a durable server it is the
	// greatest number that may be issued before the ceiling is raised. It is 0 for a counter that has issued nothing.
	Ceiling int64
	// Ranges is the number of ranges issued so far, 0 for an identity.
	Ranges int64
	// Jumps is the number of jumps on evidence of lost writes, and Born the time of the first range, in milliseconds since 1970, 0
	// if there was none.
	Jumps, Born int64
	// Origin is the replication id of the server that wrote last, "" if unknown.
	Origin string
}

// State is a counter of any kind, from another server or another program.
type State struct {
	Kind Kind
	// Counter has a Max of 0 or more and, except for KindServerSide, a valid Name. Import ignores Ceiling, Jumps, Born and Origin.
	Counter
	// Epoch is the field that has Born and Jumps.
	Epoch int64
	// Raised, Block and RaisedAt are what was reserved, by how much it was raised last, and when, 0 if unknown.
	Raised, Block, RaisedAt int64
	// Bare reports that numbers of a collection were issued without prefix and tag. No identity of its name is issued then.
	Bare bool
	// Written is the time of the last write, in milliseconds of the server's clock, 0 if unknown.
	Written int64
	// Lowered counts the forced seeds that lowered an identity.
	Lowered int64
	// Margin is how many numbers above Max may be in use although the counter does not show it, because the source may have lost
	// writes since it wrote it. Import raises the counter by it.
	Margin int64
	// Unread reports that the name in the key is not folded, so that no client reads the key. Import ignores it.
	Unread bool
	// permitted reports that the counter has a Ceiling, which only a durable server writes.
	permitted bool
}

// number returns where s keeps a field that holds a number, or nil if it does not keep the field as one.
func (s *State) number(field string) *int64 {
	switch field {
	case scripts.FieldMax, scripts.FieldValue:
		return &s.Max
	case "Ceiling":
		return &s.Ceiling
	case "Ranges":
		return &s.Ranges
	case "Epoch":
		return &s.Epoch
	case "Raised":
		return &s.Raised
	case "Block":
		return &s.Block
	case "RaisedAt":
		return &s.RaisedAt
	case "Written":
		return &s.Written
	case "Lowered":
		return &s.Lowered
	}
	return nil
}

// jumpsOf is the part of an epoch that counts jumps.
const jumpsOf = 1_000_000

// Field is a field of a counter in Redis.
type Field = scripts.Field

// Fields are all fields that a script reads of a counter, of every kind. The first two hold its number, of a collection and of the
// other kinds.
var Fields = scripts.Fields

// Kind is the kind of a counter.
type Kind string

// The kinds of counters, as files and flags spell them.
const (
	// KindHiLo is the counter of a collection, from which ranges are taken.
	KindHiLo Kind = "hilo"
	// KindIdentity is an identity, which counts one by one.
	KindIdentity Kind = "identity"
	// KindServerSide is the counter of all server-side identifiers, one for each namespace.
	KindServerSide Kind = "server-side"
)

// storage describes how the counters of a kind are stored in Redis.
type storage struct {
	kind   Kind
	field  string // that holds the number
	other  string // that holds the number of other kinds, and is not read
	prefix string // beginning of all keys of the kind
	// keys returns the keys of a script on the counter of a name.
	keys func(name string) scripts.Keys
}

func (m *Admin) storage(k Kind) storage {
	switch k {
	case KindHiLo:
		return storage{k, scripts.FieldMax, scripts.FieldValue, m.keys.HiLoPrefix(), func(name string) scripts.Keys {
			return scripts.Keys{Counter: m.keys.HiLo(name), Server: m.server, Other: m.keys.Identity(name)}
		}}
	case KindIdentity:
		return storage{k, scripts.FieldValue, scripts.FieldMax, m.keys.IdentityPrefix(), func(name string) scripts.Keys {
			return scripts.Keys{Counter: m.keys.Identity(name), Server: m.server, Other: m.keys.HiLo(name)}
		}}
	case KindServerSide:
		return storage{k, scripts.FieldValue, scripts.FieldMax, m.keys.ServerSide(), func(string) scripts.Keys {
			return scripts.Keys{Counter: m.keys.ServerSide(), Server: m.server, Other: m.server}
		}}
	}
	panic("bug: a counter of no kind")
}

// KindOf returns the kind of the counter that a key belongs to, or "" if it is the key of no counter.
func KindOf(keys prefix.Keys, key string) Kind {
	switch {
	case strings.HasPrefix(key, keys.HiLoPrefix()):
		return KindHiLo
	case strings.HasPrefix(key, keys.IdentityPrefix()):
		return KindIdentity
	case key == keys.ServerSide():
		return KindServerSide
	}
	return ""
}

// Counter returns one counter, or ErrNotSeeded if there is none, ErrInvalidName, ErrCorrupt or ErrUnavailable.
func (m *Admin) Counter(ctx context.Context, collection string) (Counter, error) {
	return m.one(ctx, KindHiLo, collection)
}

// Identity is Counter for an identity. A trailing "|" of the name is optional.
func (m *Admin) Identity(ctx context.Context, name string) (Counter, error) {
	return m.one(ctx, KindIdentity, strings.TrimSuffix(name, "|"))
}

// ServerSide is Counter for the one counter of server-side identifiers.
func (m *Admin) ServerSide(ctx context.Context) (Counter, error) {
	return m.one(ctx, KindServerSide, "")
}

// CounterAt returns the counter at a key of the namespace, of any kind, also one whose name Counter and Identity refuse. The
// errors are those of Counter, with ErrInvalidName for a key that belongs to no counter.
func (m *Admin) CounterAt(ctx context.Context, key string) (Counter, error) {
	kind := KindOf(m.keys, key)
	if kind == "" {
		return Counter{}, fmt.Errorf("admin: %w: key %.200q is of no counter of this namespace, such as %s", prefix.ErrInvalid, key, m.keys.HiLo("orders"))
	}
	as := m.storage(kind)
	state, err := as.counter(ctx, key, as.read(ctx, m.client, key))
	return state.Counter, err
}

func (m *Admin) one(ctx context.Context, k Kind, name string) (Counter, error) {
	if err := m.validName(name); k != KindServerSide && err != nil {
		return Counter{}, err
	}
	as := m.storage(k)
	key := as.keys(name).Counter
	state, err := as.counter(ctx, key, as.read(ctx, m.client, key))
	return state.Counter, err
}

func (storage) read(ctx context.Context, client redis.Cmdable, key string) *redis.SliceCmd {
	return client.HMGet(ctx, key, scripts.FieldNames()...)
}

// counter returns the counter at a key, or ErrNotSeeded if there is none.
func (s storage) counter(ctx context.Context, key string, read *redis.SliceCmd) (State, error) {
	counter, found, err := s.find(ctx, key, read)
	if err != nil || found {
		return counter, err
	}
	for i, field := range scripts.Fields {
		if text, _ := read.Val()[i].(string); text != "" && field.Name != "Name" && field.Name != s.other {
			return State{}, fmt.Errorf("admin: %w: key %s has no %s, yet numbers were issued; seed it above all that was issued",
				scripts.ErrCorrupt, key, s.field)
		}
	}
	return State{}, fmt.Errorf("admin: %w: key %s has no %s", scripts.ErrNotSeeded, key, s.field)
}

// find returns the counter at a key, and checks it as strictly as the scripts do.
func (s storage) find(ctx context.Context, key string, read *redis.SliceCmd) (counter State, found bool, err error) {
	values, err := read.Result()
	if err != nil {
		return State{}, false, attemptError(ctx, key, err)
	}
	counter = State{Kind: s.kind}
	for i, field := range scripts.Fields {
		text, there := values[i].(string)
		if !there || field.Name == s.other {
			continue
		}
		switch field.Name {
		case "Name":
			counter.Name = text
		case "Origin":
			counter.Origin = text
		case "Ceiling":
			counter.permitted = true
		case s.field:
			found = true
		}
		if field.Text {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 || strconv.FormatInt(n, 10) != text {
			return State{}, false, fmt.Errorf("admin: %w: key %s field %s holds %.40q: must be a decimal from 0 to 9223372036854775807 without sign or leading zeros",
				scripts.ErrCorrupt, key, field.Name, text)
		}
		if field.Name == "Bare" {
			counter.Bare = n != 0
		} else if into := counter.number(field.Name); into != nil {
			*into = n
		}
	}
	if name := strings.TrimPrefix(key, s.prefix); name != "" && prefix.Fold(counter.Name) != name {
		counter.Name, counter.Unread = name, prefix.Fold(name) != name // no Name, or one that was written by hand and belongs to another key
	}
	if s.kind == KindHiLo && counter.Max != 0 && counter.Ranges == 0 && counter.Written == 0 { // set by hand
		counter.Bare = true
	}
	if counter.Epoch >= jumpsOf {
		counter.Born, counter.Jumps = counter.Epoch/jumpsOf, counter.Epoch%jumpsOf
	}
	if !counter.permitted {
		counter.Ceiling = counter.Raised
	}
	return counter, found, nil
}
