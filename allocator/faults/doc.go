// Package faults proves on real servers that no number is issued twice. Redis and Valkey, Sentinel and Cluster run as child
// processes that are killed, stopped, promoted and cut off, that lose their power, and so do the workers that take identifiers.
//
// Most tests run their fault twice. Workers that only increment a counter by a range (the bare way) have to use numbers twice under
// it, since the test would otherwise show nothing. Workers of hilo must not. One ledger of package proof records what all workers
// used.
package faults
