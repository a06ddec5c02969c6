// Package prefix is the text side of hilo: what an identifier looks like, what
// a server adds to it, and how the Redis keys behind it are named. It knows
// nothing of Redis and does no I/O; all of it is safe for concurrent use.
//
// An identifier is a collection, a separator, a server prefix, a number, and a
// node tag after "-" where there is one:
//
//	orders/1                 collection "orders", number 1
//	orders/NorthServer/1     server prefix "NorthServer/"
//	orders/1-A               node tag "A"
//	orders/NorthServer/1-A   both
//
// Nothing stands between server prefix and number: the prefix brings its own
// slash, or comma, or none.
//
// # What is guaranteed
//
// With one separator, no two different IDs whose parts are valid have the same
// text, and [Parse] takes any such text apart into the parts it was made of.
// Nor do two have texts that differ in letter case only, unless their parts
// do: for stores that compare ids without case, [Keys] gives such collections
// one counter. Letter case is what [Fold] says it is.
//
// The guarantee is for valid parts. [ID.Append] runs for every identifier
// handed out and checks nothing; check each part once, before:
//
//	part            valid                                           checked by
//	collection      1 to 128 bytes, without the separator and       ValidateCollection
//	                without "|", braces, white space, controls
//	separator       one character; no letter, digit, "|",           ValidateSeparator
//	                white space or control
//	server prefix   0 to 64 bytes, without "|", braces, white       Server.Validate
//	                space, controls; ends neither in a digit
//	                nor as in "1-A", a number and a tag's start
//	node tag        none, or 1 to 8 of A-Z a-z 0-9, a letter first  Server.Validate
//	number          1 to 9223372036854775807                        Parse
//	namespace       1 to 128 bytes, without braces, white space,    ValidateNamespace
//	                controls
//
// Text is UTF-8 throughout, and bytes that are not are refused. Every refusal
// wraps [ErrInvalid] and names the part, its value and the rule.
package prefix
