// Package ravendb serves RavenDB's own clients, unmodified, with HiLo ranges and identities, over the part of RavenDB's
// HTTP protocol that is about identifiers. A Handler is one half of package gateway's, and can be used alone.
//
// Each database has an Allocator of its own, of one master. A range is Collection.Take, an identity is Allocator.NextIdentity, and
// their guarantees are those of package allocator. Other masters, Options.Others, are compared with the one that serves.
//
// Clients return unused numbers by the last number of their range alone, so a copy of a return that arrives late could take back
// numbers that another client holds by then. A return is therefore taken only where no earlier range can have ended at the same
// number (see ranges). Other returns are answered alike, and are gaps. Several handlers behind one balancer do not have each
// other's ranges: set Options.IgnoreReturns there.
//
// A Handler is safe for concurrent use. Close ends its allocators.
package ravendb
