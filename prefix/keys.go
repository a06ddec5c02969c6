package prefix

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Keys names the Redis keys of one namespace. The namespace is in braces, which assigns all keys to one slot of a Redis Cluster:
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

// NewKeys returns the keys of a namespace. The caller has checked it with [ValidateNamespace].
func NewKeys(namespace string) Keys {
	root := "{" + namespace + "}/"
	return Keys{
		hilo:       root + "HiLo/",
		identities: root + "Identities/",
		serverSide: root + "ServerSide",
		server:     root + "ServerPrefixForHilo",
	}
}

// HiLo returns the key of a collection's counter.
func (k Keys) HiLo(collection string) string { return k.hilo + Fold(collection) }

// HiLoPrefix returns the beginning of the keys of all collections, which the folded name follows. Pass it to [EscapeGlob] before
// use in a MATCH pattern of SCAN, because a namespace may contain "*", "?", "[" and "\".
func (k Keys) HiLoPrefix() string { return k.hilo }

// Identity returns the key of an identity.
func (k Keys) Identity(name string) string { return k.identities + Fold(name) }

// IdentityPrefix returns the beginning of the keys of all identities, as [Keys.HiLoPrefix] does for collections.
func (k Keys) IdentityPrefix() string { return k.identities }

// ServerSide returns the key of the one counter for server-side identifiers.
func (k Keys) ServerSide() string { return k.serverSide }

// Server returns the key of the server's own prefix and tag, see [Server].
func (k Keys) Server() string { return k.server }

// EscapeGlob returns a MATCH pattern of Redis that matches text literally.
func EscapeGlob(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(text)
}

// Fold returns name without letter case, as used in keys. Two names have the same fold exactly when [strings.EqualFold] reports
// true, whatever the locale. Each character becomes its lower case. If there are several, such as "σ" and "ς" for "Σ", it becomes
// the lower case of its upper case, "σ". A folded name may be a few bytes longer than the name.
func Fold(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return strings.Map(foldRune, name)
	}
	return strings.ToLower(name)
}

// foldRune returns the representative of all characters that differ from r in letter case only, which are the orbit of r under
// unicode.SimpleFold, as in strings.EqualFold. unicode.ToLower does not suffice, since it maps "İ" to "i", which EqualFold
// distinguishes, and keeps "ς" and "σ" distinct.
func foldRune(r rune) rune {
	orbit := append(make([]rune, 0, 4), r) // none is longer, as of Unicode 15
	for at := unicode.SimpleFold(r); at != r; at = unicode.SimpleFold(at) {
		orbit = append(orbit, at)
	}
	lower := rune(unicode.MaxRune + 1)
	for _, at := range orbit {
		if to := unicode.ToLower(at); to != at && slices.Contains(orbit, to) {
			lower = min(lower, to)
		}
	}
	if lower <= unicode.MaxRune {
		return lower
	}
	return slices.Min(orbit)
}
