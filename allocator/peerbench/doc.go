// Package peerbench holds nothing but benchmarks and tests: package allocator
// beside the bare operations that it is made of and beside other generators of
// identifiers. README.md has the command, the figures and what they mean.
//
// It is a module of its own so that the peers are in no user's go.sum.
package peerbench
