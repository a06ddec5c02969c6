// Package recipes holds nothing but a test: the packages below it show hilo in
// the frameworks that its users already have, each small enough to be copied,
// and README.md shows them all. None of them is meant to be imported.
//
// It is a module of its own so that the frameworks are in no user's go.sum.
package recipes
