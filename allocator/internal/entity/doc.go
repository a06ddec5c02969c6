// Package entity is what reflection tells of a user's entity: which member holds
// its identifier, what that asks for, and which collection the type's name makes.
// It knows nothing of Redis or of identifiers, and imports the standard library
// and a pluraliser only. All of it is safe for concurrent use on different
// entities.
package entity
