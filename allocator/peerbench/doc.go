// Package peerbench holds nothing but benchmarks and tests: package allocator
// beside the bare operations that it is made of and beside other generators of
// identifiers. README.md has the command, the figures and what they mean.
//
// It is a module of its own so that the peers are in no user's go.sum.
//
// What was tried, of a number:
//
//   - Two comparisons, with the end of the range and with the look-ahead mark,
//     cost 2.4 times an atomic addition. One comparison with a mark that is never
//     past the end does both.
//   - A nil pointer for "no range yet" cost a branch, and kept the compiler from
//     comparing and branching in one step. An empty range in its place is faster
//     by a third.
//   - A mark that was passed while a refill is in flight sends every call down the
//     slow path, and in a tight loop a refill is always in flight. The mark is past
//     the end during that time.
//   - Demand is measured at each look-ahead, which takes 70 ns. A tight loop that
//     held just enough checked at every number. The checks slowed it down, which
//     lowered the demand, which kept the stock just above the threshold. Checks are
//     now at least a 64th of the demand apart, and that much more is held.
//
// Of a text:
//
//   - Concatenating three strings takes half as much time again as appending to a
//     buffer on the stack and converting it. An exact allocation through package
//     unsafe is within the noise of that.
//   - Writing digits in pairs from a table into the buffer takes two thirds of the
//     time of strconv.AppendInt.
//   - Incrementing the decimal in place makes Batch.Strings twice as fast as
//     formatting each number. Copying a text right after a digit was written makes
//     the processor wait for that digit, so ten texts are copied at once.
//   - Go's collector runs whenever as much was allocated as is in use, at least
//     4 MB. In a program that has nothing but ids it used 40 % of the time. The
//     benchmarks hold 64 MiB, as a service might.
//
// Of the script next:
//
//   - Numbers as tables of two halves took two thirds of its time. Decimal strings,
//     compared by length and then as text, saved a third, and locals instead of
//     closures, which Lua creates anew at each call, a fifth of the rest.
//   - An unanchored pattern takes 0.7 µs to find the replication id, a plain search
//     0.1. Joining the texts of seconds and milliseconds takes 0.4 µs less than
//     formatting their sum.
//   - Of the marks that a client sends only those that differ from what is stored
//     are checked, which saves 2 %. Omitting unchanged fields from the write saves
//     nothing.
package peerbench
