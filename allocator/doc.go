// Package allocator issues identifiers to a fleet of workers that share a Redis, such as `orders/1`, `orders/2`, … or, if the
// server has a prefix, `orders/NorthServer/1`. It is RavenDB's HiLo. A counter per collection holds Max, the greatest
// number ever issued. A client takes a whole range above it with one atomic script, issues the numbers from memory, and
// returns at Close what it did not use.
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
// No two calls, of any clients in any processes, receive the same number of a collection from one server. The condition is
// that the server keeps what it acknowledged, or loses no more than the gap below. Redis can lose its newest writes in a
// failover, a crash or an empty restart. Without any setting, hilo protects against this as follows:
//
//   - The token. Each request has a unique one. A request that is sent again after a lost reply gets the same range. A range
//     can be returned only while it is the newest.
//   - The floor and the epoch. A client sends the greatest number and the greatest epoch that it received. A counter below
//     either has lost writes, so a running client never overlaps itself. One that counts no more ranges than before was
//     deleted and made anew: the client discards its range and makes it jump.
//   - The guard. Each script compares the server's replication id with the one at the last write. A different one means that
//     the server was restarted or promoted. A client that may not run INFO cannot detect that and is refused with [ErrUnguarded].
//   - The jump. On any of this evidence the counter jumps, once, and its epoch grows by one. The jump is at least the gap,
//     which is the greatest of 65,536 (1,024 for identities), twice the requested capacity, and twice what was issued in
//     this minute and the one before. A pseudo-random offset, uniform over 64 gaps and derived from
//     the request's token, is added. Two servers that continue from the same state, such as an old primary and its
//     replacement, are therefore unlikely to issue overlapping ranges.
//
// A server that keeps every acknowledged write, and whose data is nowhere else, can state so by Durable beside its prefix,
// which `hilo prefix set --durable always` sets. After a restart from its AOF a changed replication id is then no evidence,
// so that orders/3 is followed by orders/4. The scripts remove the statement themselves when a replica is connected, the AOF
// is off, the server has another history, or the floor or the epoch contradicts it.
//
// A server with replicas can state instead that whatever is promoted has every write that N of them acknowledged, which
// `hilo prefix set --durable replicas:N` sets. Every client then uses a number only after N acknowledgements, without any
// option. After a failover the gap is the greatest of twice the requested capacity and twice what was issued in this minute
// and the one before, and the offset is below one gap. That holds only where the replication id is the only evidence, the
// server's previous history is the one that wrote the counter, and the server has been up since before the counter's last
// write. Otherwise the jump is the full one, as after a restart.
//
// With [NewMulti] each master has a prefix, a tag or an interval of its own, so that no two issue the same text, whatever
// each of them loses. All masters are compared before the first identifier and whenever their settings change. With disjoint
// intervals numbers alone are unique too, for [Allocator.NextNumber]. With Options.RequirePrefix a single server that lost
// its settings issues nothing.
//
// Identities have no prefix, so they come from one server, their home, which the server itself reports. An identity continues
// above the numbers of its name that were issued without prefix and tag. Only where there are such numbers does a loss at
// their counter concern it. One request for a name is in flight at a time. Names share a counter exactly when
// strings.EqualFold reports true.
//
// With Options.Durability a range is used only when replicas or the disk have it.
//
// # What breaks it
//
//   - A loss of more than the gap. The offset then makes a duplicate unlikely, not impossible.
//   - An unfenced old primary that keeps issuing numbers after a failover. Set min-replicas-to-write 1 at the server, or
//     Durability.Replicas, or state replicas:N.
//   - A statement that is not true. With replicas:N of more than N replicas the promoted one has every number only if all
//     have the same replica-priority, none of it 0, a sentinel is beside each server, and one node at a time fails.
//   - Clocks that differ. A server that was started from an older file before its promotion, and whose clock is behind by
//     more than the time from the counter's last write in that file to the start, looks as if it had been up all along.
//   - A counter that is gone altogether starts at 1 for a client that never saw it. Options.RequireSeeded refuses instead.
//   - A server restored from an old backup issues again what was issued since. Set another prefix for it. An older copy that
//     replaces a counter under a running server, by SWAPDB or RESTORE, is the same, except for clients that were issued numbers since.
//   - A prefix or an interval that moves to another server.
//   - A counter that is lowered by hand, or by a forced seed.
//   - A process that continues from a snapshot of its memory, such as a virtual machine that is restored or cloned. It
//     holds numbers that it issued before. Restart it.
//   - A jump that is lost itself. The next one starts from the older state and may land below the numbers that were issued
//     after the first, and the counter then counts towards them. Clients that were issued those numbers send their floor.
//
// Numbers are not dense, and not ordered across clients. The numbers that a killed process held are a gap, and each client
// counts in ranges of its own. Gaps are free, duplicates are not.
//
// Close can return a range only while it is the newest of its collection, so mostly only the last client of a fleet does. The
// counter does not keep other returned numbers to issue them again. It would have to keep a list of every range in use, or a
// late copy of a return could free numbers that were issued again meanwhile. The ranges of killed clients would stay in that
// list for good, and after a loss it could not be relied on.
//
// # Cost
//
// While numbers are in hand, an identifier costs one atomic addition and the formatting of its text. The next range is
// fetched before it is needed, off the caller's path. The first range has Options.MinCapacity numbers. The next one doubles
// if it is requested within 30 s, and halves after more than 60 s. The allocator holds as many numbers ahead as the last
// Options.Runway used, so that an outage of that length causes no wait at that rate. An identity or a server-side
// identifier costs a round trip, which all callers that wait for the same name share.
//
// A name is never forgotten: each spelling of a collection costs about 1 KB of memory as long as its Allocator, and each name a
// key in Redis for ever, so names that come from outside a program have to be bounded by it.
//
// An Allocator for one server runs no goroutine and no timer while nothing is fetched and the server is up. With several
// servers a timer checks them every 10 s. A server that is down is asked every 3 to 10 s until it answers. At most 32
// goroutines fetch ranges, and at most 16 requests for identities are in flight at a server.
package allocator

// The locks of the library. A lock is taken only before those below it in the table, and locks of one row are never held
// together. No lock but counter.turn is held during I/O.
//
//	counter.turn           one request for a counter of a server in flight, in package fleet
//	Collection.mu          ranges in hand, the refill in flight, waiting callers of Take
//	batcher.mu             waiting callers of one identity
//	Allocator.mu           closing, additions to the registry
//	Fleet.mu               servers, marks of all counters
//
// Collection.mu and batcher.mu are taken before Fleet.mu, and Allocator.mu before none.
