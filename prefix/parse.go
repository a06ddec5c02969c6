package prefix

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Parse splits the text of an identifier into its parts. It is the exact inverse of [ID.Append]. It accepts the texts of valid
// IDs and no others, and Append restores the text from the ID it returns.
//
// Parse refuses a number padded with zeros, such as that of a server-side identifier. The text of an identity is that of an ID
// without prefix and tag, and Parse returns that ID.
func Parse(text, separator string) (ID, error) {
	// No text is ambiguous, because each cut below finds the place where Append joined the parts of a valid ID:
	//
	//  1. The first separator follows the collection, which contains none. A
	//     prefix may contain any number of them.
	//  2. With a tag, the last "-" is the one before it, for a tag contains none,
	//     and a digit of the number precedes it, so cutTag finds the tag. Without
	//     a tag it finds none, because the last "-" would be the prefix's, and so
	//     would the letter after it, a number having neither. The prefix would
	//     then end in "1-A" or the like, which Server.Validate refuses.
	//  3. The digits before that are the number, all of them, for the prefix
	//     does not end in a digit. A number has one spelling.
	//
	// The same holds for the folded parts, and so where letter case is ignored.
	// The tests drop the rules one by one and show the resulting clash.
	collection, rest, found := strings.Cut(text, separator)
	if err := ValidateCollection(collection, separator); err != nil {
		return ID{}, err
	}
	if !found {
		return ID{}, fmt.Errorf("%w: identifier %s holds no separator %q", ErrInvalid, quote(text), separator)
	}
	rest, tag := cutTag(rest)
	serverPrefix := strings.TrimRight(rest, "0123456789")
	digits := rest[len(serverPrefix):]
	number, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || digits[0] == '0' {
		return ID{}, fmt.Errorf("%w: number %s of identifier %s is not 1 to %d without leading zeros",
			ErrInvalid, quote(digits), quote(text), int64(math.MaxInt64))
	}
	if err := (Server{ServerPrefix: serverPrefix, NodeTag: tag}).Validate(); err != nil {
		return ID{}, err
	}
	return ID{
		Collection:   collection,
		ServerPrefix: serverPrefix,
		Number:       number,
		NodeTag:      tag,
	}, nil
}
