package prefix

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Keys names the Redis keys of one namespace. The namespace stands in braces,
// which puts all of them into one slot of a Redis Cluster:
//
//	{Raven}/HiLo/orders           the counter of a collection
//	{Raven}/Identities/companies  an identity
//	{Raven}/ServerSide            the counter of all server-side identifiers
//	{Raven}/ServerPrefixForHilo   the server's prefix and tag, and whether it is the home of identities
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
// follows. A namespace may hold "*", "?", "[" and "\": put the prefix
// through [EscapeGlob] before it becomes a MATCH pattern of SCAN.
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

// EscapeGlob has a MATCH pattern of Redis match text as it stands.
func EscapeGlob(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(text)
}

// Fold is name without letter case, as it stands in keys: two names have the same
// fold exactly when [strings.EqualFold] holds of them, whatever the locale. Each
// character becomes its lower case. One that has several, as "Σ" has "σ" and "ς",
// becomes the one that its upper case leads to, "σ". A folded name may be some
// bytes longer than the name.
func Fold(name string) string {
	for i := range len(name) {
		if name[i] >= utf8.RuneSelf {
			return strings.Map(foldRune, name)
		}
	}
	return strings.ToLower(name)
}

// foldRune is the one character that stands for all that differ from r in letter
// case only: those that unicode.SimpleFold leads through, which is what EqualFold
// goes by. unicode.ToLower alone is not: it makes "i" of "İ", which EqualFold
// tells apart, and leaves "ς" beside "σ".
func foldRune(r rune) rune {
	least, lower := r, rune(unicode.MaxRune+1)
	for at := unicode.SimpleFold(r); ; at = unicode.SimpleFold(at) {
		least = min(least, at)
		if to := unicode.ToLower(at); to != at && sameButCase(to, r) {
			lower = min(lower, to)
		}
		if at == r {
			break
		}
	}
	if lower <= unicode.MaxRune {
		return lower
	}
	return least
}

// sameButCase reports whether SimpleFold leads from a to b.
func sameButCase(a, b rune) bool {
	for at := unicode.SimpleFold(a); ; at = unicode.SimpleFold(at) {
		if at == b {
			return true
		}
		if at == a {
			return false
		}
	}
}
