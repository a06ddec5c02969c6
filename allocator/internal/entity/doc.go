// Package entity finds by reflection which member of a struct holds its
// identifier, and which collection the name of its type makes. It imports the
// standard library and a pluraliser only. All of it is safe for concurrent use
// on different entities.
package entity
