package prefix

import "strings"

// Keys names the Redis keys of one namespace. The namespace stands in braces,
// which puts all of them into one slot of a Redis Cluster:
//
//	{Raven}/HiLo/orders           the counter of a collection
//	{Raven}/Identities/companies  an identity
//	{Raven}/ServerSide            the counter of all server-side identifiers
//	{Raven}/ServerPrefixForHilo   the server's prefix and tag
//
// Names are folded, so that "Orders" and "orders" share a counter.
type Keys struct {
	hilo, identities, serverSide, server string
}

// NewKeys returns the keys of a namespace, which [ValidateNamespace] should
// have passed.
func NewKeys(namespace string) Keys {
	root := "{" + namespace + "}/"
	return Keys{
		hilo:       root + "HiLo/",
		identities: root + "Identities/",
		serverSide: root + "ServerSide",
		server:     root + "ServerPrefixForHilo",
	}
}

// HiLo is the key of a collection's counter.
func (k Keys) HiLo(collection string) string { return k.hilo + Fold(collection) }

// HiLoPrefix is what the keys of all collections begin with; the folded name
// follows. A namespace may hold "*", "?", "[" and "\": escape the prefix before
// it becomes a MATCH pattern of SCAN.
func (k Keys) HiLoPrefix() string { return k.hilo }

// Identity is the key of an identity.
func (k Keys) Identity(name string) string { return k.identities + Fold(name) }

// IdentityPrefix is what the keys of all identities begin with, as
// [Keys.HiLoPrefix] is for collections.
func (k Keys) IdentityPrefix() string { return k.identities }

// ServerSide is the key of the one counter for server-side identifiers.
func (k Keys) ServerSide() string { return k.serverSide }

// Server is the key of the server's own prefix and tag, see [Server].
func (k Keys) Server() string { return k.server }

// Fold is name without letter case, as it stands in keys: every character in
// its lower case, whatever its neighbours and the locale. A folded name may be
// some bytes longer than the name.
func Fold(name string) string { return strings.ToLower(name) }
