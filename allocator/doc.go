// Package allocator gives identifiers to a fleet of workers that share a
// Redis: `orders/1`, `orders/2`, … or, where the server has a prefix,
// `orders/NorthServer/1`. It is RavenDB's HiLo: a counter per collection holds
// Max, the greatest number that any client was ever given; a client takes a
// whole range above it with one atomic script, hands the numbers out from
// memory, and gives back at Close what it did not use.
//
// # What is guaranteed
//
// No two calls, of any clients in any processes, get the same number of a
// collection from one server, as long as the server keeps what it acknowledged.
// Redis may not: a failover or a crash can lose its newest writes. Against that
// stand, without any setting:
//
//   - the floor: a client never takes a number that is not above all that it was
//     given before, and a counter below that jumps ahead;
//   - the guard: a server that was restarted or promoted since the last range
//     (its replication id tells) makes the counter jump by a gap that is larger
//     than what was issued lately. It holds where Max went back by no more than
//     the gap, earlier jumps included, and where the server permits INFO in
//     scripts;
//   - the token: each request carries one, so a request that is sent again
//     after a lost reply gets the same range, and a range is taken back only
//     while nobody was given another one.
//
// Options.Durability makes a range count only when replicas or the disk have
// it. NewMulti takes several masters, whose prefixes keep their identifiers
// apart whatever each of them loses.
//
// What stays open: a counter that is gone altogether starts again at 1 for a
// client that never saw it (Options.RequireSeeded refuses instead), and an old
// backup that is restored hands out again what was issued since.
//
// Numbers are not dense and not ordered across clients: what a killed process
// held is a gap, and each client counts in ranges of its own. Gaps are free,
// duplicates are not.
//
// # Cost
//
// As long as numbers are in hand, an identifier costs one atomic addition and
// the formatting of its text. The next range is fetched before it is needed,
// off the caller's path. A range starts at Options.MinCapacity, doubles when the
// next one is wanted within 30 s and halves when it took more than 60 s; so much
// is held ahead as the last Options.Runway used, so that an outage this long
// goes unnoticed at that rate.
//
// An Allocator runs no goroutine while nothing is fetched, and at most 32 ever.
package allocator
