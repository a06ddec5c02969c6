// Package recipes contains only a test. The packages below it show hilo with
// other frameworks, each small enough to copy, and README.md shows them all.
// They are not meant to be imported.
//
// It is a module of its own, which keeps the frameworks out of its users' go.sum.
package recipes
