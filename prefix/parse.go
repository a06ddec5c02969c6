package prefix

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Parse takes the text of an identifier apart. It is the exact inverse of
// [ID.Append]: it accepts the texts of valid IDs and no others, and the ID it
// gives makes that very text again.
//
// A number that is padded with zeros, as a server-side identifier's is, is
// refused. An identity has the text of an ID without prefix and tag, and is
// read as one.
func Parse(text, separator string) (ID, error) {
	// No text can be read in two ways, because each cut below finds the place
	// where Append joined the parts of a valid ID:
	//
	//  1. The first separator is the one behind the collection, which holds
	//     none. A prefix may hold as many as it likes.
	//  2. With a tag, the last "-" is the one before it, for a tag holds none,
	//     and a digit of the number precedes it: cutTag finds the tag. Without
	//     a tag it finds none: the last "-" would be the prefix's, and so would
	//     the letter behind it, a number having neither; the prefix would then
	//     end in "1-A" or the like, which Server.Validate refuses.
	//  3. The digits before that are the number, all of them, for the prefix
	//     does not end in a digit; and a number has one spelling.
	//
	// All of it is as true of the folded parts, hence also where letter case is
	// ignored. The tests drop the rules one by one and show the clash.
	collection, rest, found := strings.Cut(text, separator)
	if err := ValidateCollection(collection, separator); err != nil {
		return ID{}, err
	}
	if !found {
		return ID{}, fmt.Errorf("%w: identifier %s holds no separator %q", ErrInvalid, quote(text), separator)
	}
	rest, tag, _ := cutTag(rest)
	start := len(rest)
	for start > 0 && isDigit(rest[start-1]) {
		start--
	}
	digits := rest[start:]
	number, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || digits[0] == '0' {
		return ID{}, fmt.Errorf("%w: number %s of identifier %s is not 1 to %d without leading zeros",
			ErrInvalid, quote(digits), quote(text), math.MaxInt64)
	}
	server := Server{ServerPrefix: rest[:start], NodeTag: tag}
	if err := server.Validate(); err != nil {
		return ID{}, err
	}
	return ID{
		Collection:   collection,
		ServerPrefix: server.ServerPrefix,
		Number:       number,
		NodeTag:      server.NodeTag,
	}, nil
}
