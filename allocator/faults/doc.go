// Package faults proves on real servers that no number is issued twice. Redis and Valkey, Sentinel and Cluster run as child
// processes that are killed, stopped, promoted and cut off, and so do the workers that take identifiers from them.
//
// Each test runs its fault twice. Workers that only increment a counter by a range (the bare way) have to use numbers twice under
// it, since the test would otherwise show nothing. Workers of hilo must not, under the setting that the README's promise names.
// One ledger of package proof records what all workers used.
package faults
