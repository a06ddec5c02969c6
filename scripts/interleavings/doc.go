// Package interleavings contains only tests. They walk every interleaving of small cases, on the scripts as they are, and show
// that no text is issued twice. For each rule of the protection they find the shortest sequence that issues one twice without that
// rule, and for each way in which an operator's statement can be false without the scripts detecting it, the shortest one too.
//
// One name is both a collection and an identity. Clients send requests and returns that are lost, late and repeated, and raise
// ceilings. Two servers, plain or durable, are restarted, crash, are replicated and promoted, and lose data. Operators seed, set
// settings, export and import. What a plain server may lose is bounded by the margin of a jump, because the cases are small.
//
//	go test ./scripts/interleavings -v            # some seconds
//	go test ./scripts/interleavings -v -deeper 1  # as in CI, a minute
//	go test ./scripts/interleavings -v -deeper 2  # many minutes and gigabytes
package interleavings
