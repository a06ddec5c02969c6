// Package allocator gives identifiers to a fleet of workers that share a Redis: `orders/1`, `orders/2`, … or, where the
// server has a prefix, `orders/NorthServer/1`. It is RavenDB's HiLo: a counter per collection holds Max, the greatest
// number that any client was ever given; a client takes a whole range above it with one atomic script, hands the numbers
// out from memory, and gives back at Close what it did not use.
//
//	ids, err := allocator.New(client, allocator.Options{}) // one per process
//	…
//	id, err := ids.Next(ctx, "orders")
//	…
//	err = ids.Close(ctx)
//
// An [Allocator] and a [Collection] are safe for concurrent use. Numbers are 1 to Options.Limit, over all of int64.
//
// # What is guaranteed
//
// No two calls, of any clients in any processes, get the same number of a collection from one server. The condition is
// that the server keeps what it acknowledged, or loses no more than the gap below. Redis can lose its newest writes, by a
// failover, a crash or an empty restart. Against that stand, without any setting:
//
//   - The token. Each request has a unique one. Sent again after a lost reply it gets the same range. A range is taken back
//     only while it is the newest.
//   - The floor and the epoch. A client sends the greatest number and the greatest epoch that it was given. A counter below
//     either has lost writes, so a client that lives on never overlaps itself.
//   - The guard. Each script compares the server's replication id with the one that wrote last. Another one means that the
//     server was restarted or promoted. A client that may not ask INFO cannot see that, and is refused: [ErrUnguarded].
//   - The jump. On any of this evidence the counter jumps, once, and its epoch grows by one. The jump is a gap, which is
//     the greatest of 65,536 (1,024 for identities), twice the capacity asked for, and twice what was issued in this minute
//     and the one before; or Options.GuardGap. On top of the gap comes a place, evenly over 64 gaps, that the request's
//     token picks: two servers, or two lives of one, that go on from the same state land apart.
//
// With [NewMulti] each master has a prefix or a tag of its own, so that no two give the same text, whatever each of them
// loses. All masters are compared before the first identifier and whenever a prefix changes. Options.RequirePrefix has a
// single server that lost its prefix give nothing.
//
// Identities have no prefix, so they come from one server, their home, which says so itself. They are asked for one
// request at a time for each name. Names share a counter exactly when strings.EqualFold says that they are equal.
//
// Options.Durability makes a range count only when replicas or the disk have it.
//
// # What breaks it
//
//   - A loss of more than the gap. The place that the token picks makes a meeting unlikely then, not impossible.
//   - An old primary that nobody fences, and that gives on for long beside its successor. Set min-replicas-to-write 1 at the
//     server, or Durability.Replicas.
//   - A counter that is gone altogether starts at 1 for a client that never saw it. Options.RequireSeeded refuses instead.
//   - An old backup that is restored gives again what was issued since. Give that server another prefix.
//   - A counter that is lowered by hand, or by a forced seed.
//   - A process that goes on from a snapshot of its memory, as a virtual machine that is restored or cloned: it has numbers
//     in hand that it gave before. End it, and start it anew.
//
// Numbers are not dense, and not ordered across clients: what a killed process held is a gap, and each client counts in
// ranges of its own. Gaps are free, duplicates are not.
//
// # Cost
//
// As long as numbers are in hand, an identifier costs one atomic addition and the formatting of its text. The next range
// is fetched before it is needed, off the caller's path. A range starts at Options.MinCapacity, doubles when the next one
// is wanted within 30 s and halves when it took more than 60 s. So much is held ahead as the last Options.Runway used, so
// that an outage this long goes unnoticed at that rate. An identity or a server-side identifier costs a round trip, which
// all callers share who wait for the same name.
//
// An Allocator for one server runs no goroutine while nothing is fetched; with several, a timer asks about them every
// 10 s. At most 32 goroutines fetch ranges, and at most 16 requests for identities are under way at a server.
package allocator
