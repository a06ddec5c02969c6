// Package ravendb serves RavenDB's own clients, unmodified, with HiLo ranges and identities, over the part of RavenDB's
// HTTP protocol that is about identifiers. A Handler is one half of package gateway's, and can be used alone.
//
// Each database has an Allocator of its own, of one master. A range is Collection.Take, an identity is Allocator.NextIdentity, and
// their guarantees are those of package allocator.
//
// A Handler is safe for concurrent use. Close ends its allocators.
package ravendb
