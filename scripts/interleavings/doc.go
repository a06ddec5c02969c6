// Package interleavings holds no code but a test: it walks every interleaving of
// small cases, on the scripts as they are, and shows that no number of a collection
// and no value of an identity is given twice; and for each layer of the protection it
// finds the shortest sequence that gives one twice without it.
//
//	go test ./scripts/interleavings -v            # some seconds
//	go test ./scripts/interleavings -v -deeper 1  # as CI does too: half a minute
//	go test ./scripts/interleavings -v -deeper 2  # many minutes and gigabytes
package interleavings
