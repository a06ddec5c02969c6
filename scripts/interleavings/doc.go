// Package interleavings holds no code but a test: it walks every interleaving of
// small cases, on the scripts as they are, and shows that no number of a collection
// and no value of an identity is issued twice; and for each layer of the protection it
// finds the shortest sequence that issues one twice without it.
//
// There are two models. In that of one counter, requests and returns are lost, late
// and repeated. In that of a deployment, a name is both a collection and an identity
// while a prefix is set and cleared, and the server is restarted, replicated,
// promoted, exported and imported, with and without Durable. For each way in which the
// statement of Durable can be false unseen, the test finds the shortest sequence that
// issues a text twice.
//
//	go test ./scripts/interleavings -v            # some seconds
//	go test ./scripts/interleavings -v -deeper 1  # as CI does too: half a minute
//	go test ./scripts/interleavings -v -deeper 2  # many minutes and gigabytes
package interleavings
