// Package ravendb speaks RavenDB's wire, as far as identifiers go, so that
// RavenDB's own clients, unmodified, get their HiLo ranges and identities from
// hilo. The handler is one half of package gateway's, and can be used alone.
//
// # What is promised
//
// A client is given ranges, and nobody is ever given a number of a range that
// was not returned. The handler is a client of the scripts like any other: it
// sends a token with each request, keeps a floor, an epoch and a least gap for
// each counter, and sends a request again whose reply was lost, so allocators
// and other gateways can use the same counters beside it.
//
// Clients return what they did not use by the last number of the range alone,
// which does not say whose range it was. So a return is taken only for a range
// that this handler gave, once, by the token under which it was given, and no
// range is given that ends where another one did whose end is still remembered.
// Remembered are the newest 100,000 ranges. A handler that has just begun knows
// nothing of the ranges that one before it gave, so for its first hour it takes
// no returns at a counter that others have used, as long as the numbers are near
// those that were there when it began.
//
// Several handlers behind one balancer do not know of each other's ranges: set
// Options.IgnoreReturns there.
//
// All of it is safe for concurrent use.
package ravendb
