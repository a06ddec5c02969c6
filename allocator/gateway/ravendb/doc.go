// Package ravendb serves RavenDB's own clients, unmodified, with HiLo ranges and identities, over the part of RavenDB's
// HTTP protocol that is about identifiers. A Handler is one half of package gateway's, and can be used alone.
//
// # Guarantees
//
// No number is issued twice, except one that its client returned. The handler is a client of the scripts like an
// allocator: it sends a token with each request, tracks the high-water marks of each counter, and repeats a request whose
// reply was lost. Allocators and other gateways may use the same counters beside it.
//
// One master serves. With Options.Others it is compared with them before the first identifier of each namespace, at each
// change of its prefix or tag, and by a request when 10 s have passed since the last comparison. Two masters with the same
// prefix and tag, or two homes of identities, are allocator.ErrPrefixConflict.
//
// Clients return unused numbers by the last number of their range alone, which other ranges may have had too. A return is
// accepted only for a range that this handler issued, once, if no other range of the counter with the same end was ever
// issued to its clients. The newest 100,000 ranges are remembered. For those before, and those of an earlier process, the
// counter's hash has the field Top, the greatest end that a handler issued there: a range above it can be returned. If the
// counter's key is deleted by hand, Top is lost with it.
//
// Several handlers behind one balancer do not have each other's ranges: set Options.IgnoreReturns there.
//
// A forced seed with an id of its own takes effect once. One process answers it alike for ten minutes; if 100,000 of them
// are remembered, more are refused. At another handler, or after a restart, the field Forced of the identity's hash shows the
// newest one.
//
// A Handler is safe for concurrent use.
package ravendb
