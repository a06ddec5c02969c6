package allocator

import "github.com/hilo-id/hilo/scripts"

// Kind is what a counter counts.
type Kind string

// The kinds of counters, under the names that files and flags have for them.
const (
	KindHiLo       Kind = "hilo"        // of a collection, ranges are taken from it
	KindIdentity   Kind = "identity"    // of one name, counts one by one
	KindServerSide Kind = "server-side" // of all server-side identifiers, one per namespace
)

// storage is how the counters of a kind stand in Redis.
type storage struct {
	field  string // that counts
	key    func(name string) string
	other  func(name string) string // of the same name and the other kind; nil: there is none
	server string                   // key of the server's prefix
	prefix string                   // of all keys of the kind
}

func (m *Admin) storage(k Kind) storage {
	s := storage{server: m.keys.Server()}
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
