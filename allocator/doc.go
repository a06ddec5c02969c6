// Package allocator issues identifiers to a fleet of workers that share a Redis, such as orders/1, orders/2 or, on a server with a
// prefix, orders/NorthServer/1. A counter for each collection holds Max, the greatest number ever issued. A client takes a range
// above it with one atomic script, issues its numbers from memory, and returns at [Allocator.Close] what it did not use.
//
//	client, err := allocator.Connect("redis://127.0.0.1:6379/0") // prepared once by: hilo init
//	if err != nil {
//		return err
//	}
//	defer client.Close()
//	ids, err := allocator.New(client, allocator.Options{Logger: log}) // one for each process
//	if err != nil {
//		return err
//	}
//	defer ids.Close(ctx)
//	id, err := ids.Next(ctx, "orders") // orders/1
//
// # Life cycle
//
// [Connect], [New] and [NewMulti] send nothing. [Allocator.Check] reports at start and for readiness what the first call would
// return, and [Allocator.Warm] fetches ranges before they are needed. [Allocator.Close] is called before the process ends and the
// client is closed. Everything between is safe for concurrent use. Package allocatortest has an allocator for tests.
//
// # Errors
//
// Test errors with errors.Is. [Retryable] reports that the same call may succeed later: [ErrUnavailable] and [ErrNotDurable]. The
// operator acts on [ErrNotSeeded], [ErrExhausted], [ErrPrefixMissing], [ErrPrefixConflict], [ErrIdentitiesElsewhere],
// [ErrUnguarded] and [ErrCorrupt]. [ErrInvalidName], [ErrInvalidOptions], [ErrMixed] and [ErrPrefixed] are mistakes of the program.
// After Close each call returns [ErrClosed].
//
// # Servers
//
// [New] is for one server: standalone, Sentinel or Cluster. With [NewMulti] several masters issue, each with a prefix, node tag or
// interval of its own, so that one may be down. These are settings of the server, by hilo settings, and so is Durable. Identities
// have no prefix, and come from one server, their home. Applications that share a server have an [Options.Namespace] each, with
// counters and settings of its own.
//
// # Guarantee
//
// No two calls, in any processes, receive the same number of a collection from one server, and no two servers issue the same text:
//
//   - A request has a token. The same request again, after a lost reply, receives the same range.
//   - A counter reserves a ceiling ahead and issues nothing above it. After a loss of writes it continues above the ceiling.
//   - A restart, a failover and a counter below what a client saw are evidence of a loss. Clients pass on what they saw.
//   - On a plain server the ceiling may be lost too, so a jump adds a margin of four minutes or more at a steady rate.
//   - On a durable server, which has an append-only file and no replica, numbers are issued once their ceiling is on disk.
//   - A server without settings is new or empty, and makes no counter until hilo init or a client that saw it.
//   - Servers are compared before the first identifier, and whenever their settings change.
//   - Numbers have gaps, and no order across processes. What can repeat one all the same is listed in GUARANTEES.md.
//
// # Cost
//
// With numbers in hand an identifier costs one atomic addition and its text. Ranges double with the rate, until one lasts 30 to
// 60 s, and are fetched ahead, so that an outage of [Options.Runway] is not noticed. Raise [Options.MinCapacity] where a process
// begins with a burst, lower [Options.MaxCapacity] where a killed one shall leave smaller gaps. An identity costs a round trip,
// which concurrent callers share. Each name costs 1 KB of memory and a key for ever, so bound names that come from outside.
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
