//go:build race

package interleavings

// lessDeep is how many steps less the interleavings are walked under the race detector, with which a step takes several
// times as long, and which has nothing to find: each search is on one goroutine.
const lessDeep = 1
