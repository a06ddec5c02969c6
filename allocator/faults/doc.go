// Package faults proves on real servers that no number is given twice: Redis and Valkey, Sentinel and Cluster run as child
// processes that are killed, stopped, promoted and cut off, and so are the workers that take identifiers of them.
//
// Each test shows its fault twice. Workers that take ranges the bare way, an INCRBY and hope, have to give numbers twice
// under it, or the test would show nothing; those of hilo must not, under the setting that the README's promise names.
// What all workers used goes into one ledger of package proof.
package faults
