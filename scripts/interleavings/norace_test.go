//go:build !race

package interleavings

const lessDeep = 0
