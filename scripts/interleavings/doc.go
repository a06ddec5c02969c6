// Package interleavings contains only tests. They walk every interleaving of small cases, on the scripts as they are, and show
// that no number of a collection and no value of an identity is issued twice. For each layer of the protection they find the
// shortest sequence that issues one twice without that layer.
//
// There are two models. In the model of one counter, requests and returns are lost, late and repeated. In the model of a
// deployment, a name is both a collection and an identity while a prefix is set and cleared, and the server is restarted,
// replicated, promoted, exported and imported, with and without Durable. For each way in which the statement of Durable can be
// false without the scripts detecting it, a test finds the shortest sequence that issues a text twice.
//
//	go test ./scripts/interleavings -v            # some seconds
//	go test ./scripts/interleavings -v -deeper 1  # as in CI, half a minute
//	go test ./scripts/interleavings -v -deeper 2  # many minutes and gigabytes
package interleavings
