// Package prefix formats, parses and validates identifiers and the parts that they consist of, and names the Redis keys of their
// counters. It does no I/O. All functions are safe for concurrent use.
//
// An identifier is a collection, a separator, a server prefix, a number, and a node tag after "-" where there is one:
//
//	orders/1                 collection "orders", number 1
//	orders/NorthServer/1     server prefix "NorthServer/"
//	orders/1-A               node tag "A"
//	orders/NorthServer/1-A   both
//
// Nothing is inserted between server prefix and number. The prefix includes its own slash or comma, if it has one.
//
// # What is guaranteed
//
// With one separator, no two different IDs whose parts are valid have the same text, and [Parse] splits any such text into the
// parts it was made of. Nor do two have texts that differ in letter case only, unless their parts do. Many stores compare ids
// without case, so [Keys] maps such collections to one counter. [Fold] defines letter case.
//
// The guarantee requires valid parts. [ID.Append] runs for every identifier
// issued and checks nothing, so check each part once, beforehand:
//
//	part            valid                                           checked by
//	collection      1 to 128 bytes, without the separator, "|"      ValidateCollection
//	                and braces
//	separator       one character, no letter, digit or "|"          ValidateSeparator
//	server prefix   0 to 64 bytes, without "|" and braces, ends     Server.Validate
//	                neither in a digit nor as in "1-A", a number
//	                and the start of a tag
//	node tag        none, or 1 to 8 of A-Z a-z 0-9, a letter first  Server.Validate
//	number          1 to 9223372036854775807                        Parse
//	namespace       1 to 128 bytes, without braces                  ValidateNamespace
//
// All parts are UTF-8 in Unicode's normalization form NFC, without white space, control characters, format characters (category
// Cf, such as the zero-width space U+200B) and code points that Unicode has not assigned. Every error wraps [ErrInvalid] and
// names the part, its value and the rule.
//
// Format characters are mostly invisible, and a text that is not in NFC looks like the one that is: each would begin a second
// counter at 1 for what people and many stores take for one name. Version 0.1 accepted both. Errors of these two rules also wrap
// [ErrLookalike], for tools that read counters of such names. A key need not be in NFC, because the lower case of a name in NFC
// may not be.
//
// # Unicode versions
//
// Which code points are assigned is decided by the tables of the Go release that built the program, see [unicode.Version]. A
// release with newer tables accepts more names. In a fleet with both, one program may refuse a name that another accepts, which
// is safe as long as they agree on the key of a name that both accept.
//
// They do agree as far as Unicode keeps letter case stable. Its policy (https://www.unicode.org/policies/stability_policy.html)
// guarantees the case folding of assigned characters, formally of text in form NFKC, and that two assigned characters do not
// become or cease to be a case pair. The policy permits one change that matters here: a letter without case may be given a lower
// case, as Cherokee was by Unicode 8.0, and the key of a name with that letter would change. A test therefore compares all keys
// with those of Unicode 15.0. Private use characters are assigned for good and have no case.
package prefix
